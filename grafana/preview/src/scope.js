// What a text of a panel may name: variables of the dashboard, built-ins, and its own data.
import { interpolate } from "./interpolate.js";

const row = (context) => context.rowIndex ?? 0;

function fieldText(context, path) {
  const { field } = context;
  if (path.startsWith("labels.")) return field.labels?.[path.slice("labels.".length)] ?? "";
  return path === "name" ? field.name : field.state?.displayName ?? field.name;
}

function cellText(context, path) {
  const name = /^fields(?:\.(.+)|\["(.+)"\])$/.exec(path);
  const field = context.frame.fields.find((one) => one.name === (name?.[1] ?? name?.[2]));
  return `${field?.values[row(context)] ?? ""}`;
}

function dataScope(scopedVars) {
  const context = scopedVars?.__dataContext?.value;
  if (!context) return {};
  return {
    __field: { lookup: (path) => fieldText(context, path) },
    __data: { lookup: (path) => cellText(context, path) },
    __value: { lookup: () => `${context.field.values[row(context)] ?? ""}` },
    __series: { lookup: () => context.frame.name ?? "" },
  };
}

/** The function that Grafana hands to panels: `(text, scopedVars) → text`. */
export function replacer(scope) {
  return (text, scopedVars) => interpolate(text, { ...scope, ...dataScope(scopedVars) });
}
