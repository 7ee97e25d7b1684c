// The variables of a dashboard, each resolved with those before it.
import { interpolate, promql } from "./interpolate.js";

const ALL = "$__all";
const LABEL_VALUES = /^label_values\((?:(.+),\s*)?([a-zA-Z_]\w*)\s*\)$/s;
const QUERY_RESULT = /^query_result\((.+)\)$/s;

async function queried(variable, scope, { client, range }) {
  const text = typeof variable.query === "string" ? variable.query : variable.query?.query;
  const query = interpolate(text ?? variable.definition, scope, promql).trim();
  const [start, end] = [range.from.valueOf() / 1000, range.to.valueOf() / 1000];
  const labels = LABEL_VALUES.exec(query);
  if (labels) return client.labelValues(labels[2], labels[1], start, end);
  const result = QUERY_RESULT.exec(query);
  if (!result) throw new Error(`variable ${variable.name}: the preview cannot run ${query}`);
  const { result: series } = await client.instant(result[1], end);
  return series.map(({ metric: { __name__: name = "", ...rest }, value }) => {
    const inner = Object.entries(rest).map(([key, one]) => `${key}="${one}"`);
    return `${name}{${inner.join(",")}} ${value[1]} ${value[0] * 1000}`;
  });
}

/** What `regex` of the variable keeps of each value: its first group, or the whole value. */
function filtered(values, regex) {
  if (!regex) return values;
  const [, body, flags] = /^\/(.*)\/(\w*)$/s.exec(regex) ?? [null, `^${regex}$`, ""];
  const pattern = new RegExp(body, flags.replace("g", ""));
  const matches = values.map((value) => pattern.exec(value)).filter(Boolean);
  return [...new Set(matches.map((match) => match.groups?.value ?? match[1] ?? match[0]))];
}

function sorted(values, sort) {
  const collator = new Intl.Collator(undefined, { numeric: sort === 3 || sort === 4, sensitivity: "base" });
  if (!sort) return values;
  const ascending = [...values].sort(collator.compare);
  return sort % 2 ? ascending : ascending.reverse();
}

const listed = (query) => `${query}`.split(",").map((one) => one.trim());

async function optionsOf(variable, scope, context) {
  switch (variable.type) {
    case "query":
      return sorted(filtered(await queried(variable, scope, context), variable.regex), variable.sort);
    case "custom":
    case "interval":
      return listed(variable.query).map((one) => one.split(/\s+:\s+/).at(-1));
    case "datasource":
      return ["preview"];
    case "constant":
    case "textbox":
      return [interpolate(variable.query, scope)];
    default:
      throw new Error(`variable ${variable.name}: the preview knows no type ${variable.type}`);
  }
}

/** What is chosen: by the address, by the saved dashboard, or as Grafana does without either. */
function chosen(variable, options, asked) {
  const saved = variable.current?.value;
  const wish = asked ?? (saved === undefined || saved.length === 0 ? undefined : saved);
  const wished = (Array.isArray(wish) ? wish : [wish]).map((one) => (one === "All" ? ALL : one));
  if (variable.type === "textbox" || variable.type === "constant") return wished[0] ?? options[0];
  if (variable.includeAll && (wished.includes(ALL) || wish === undefined)) return ALL;
  const valid = wished.filter((one) => options.includes(one));
  const kept = valid.length ? valid : options.slice(0, 1);
  return variable.multi ? kept : kept[0] ?? "";
}

async function resolved(variable, scope, context) {
  const options = await optionsOf(variable, scope, context);
  const choice = chosen(variable, options, context.asked[variable.name]);
  const all = choice === ALL;
  const value = all ? options : choice;
  const text = all ? "All" : variable.type === "datasource" ? "Prometheus" : value;
  const { name, label, hide, type, multi, includeAll, allValue } = variable;
  return { name, label: label || name, hide, type, multi, includeAll, allValue, options, value, all, text };
}

/**
 * `{name: variable}` of all variables of `dashboard`, resolved from the live Prometheus.
 * `context`: `client`, `range`, and `asked`, the values that the address asks for.
 */
export async function resolveVariables(dashboard, scope, context) {
  const found = {};
  for (const variable of dashboard.templating?.list ?? []) {
    found[variable.name] = await resolved(variable, { ...scope, ...found }, context);
  }
  return found;
}
