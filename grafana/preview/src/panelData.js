// From a panel's queries to the data that it draws.
import { interpolate, promql, unresolved } from "./interpolate.js";
import { frames } from "./prometheus.js";
import { aligned } from "./steps.js";
import { stepOf } from "./time.js";
import { prepared } from "./fields.js";
import { replacer } from "./scope.js";

const PANELS_WITHOUT_QUERIES = new Set(["text", "row", "dashlist", "news"]);

export const hasQueries = (panel) => !PANELS_WITHOUT_QUERIES.has(panel.type);

async function asked(target, panel, { scope, range, client, scrape, width }) {
  const minimum = interpolate(target.interval || panel.interval || "", scope) || undefined;
  const { step, scope: stepScope } = stepOf(range, panel.maxDataPoints ?? width, minimum, scrape);
  const all = { ...scope, ...stepScope };
  const expr = interpolate(target.expr, all, promql);
  const missing = unresolved(target.expr, all);
  if (missing.length) throw new Error(`${target.refId}: no variable ${missing.join(", ")}`);
  const data = target.instant
    ? await client.instant(expr, range.to.valueOf() / 1000)
    : await client.range(expr, ...aligned(range, step), step);
  return { data, expr, step, legendFormat: interpolate(target.legendFormat, all) };
}

async function framesOf(target, panel, context) {
  const { data, expr, step, legendFormat } = await asked(target, panel, context);
  const tables = panel.targets.filter((one) => one.format === "table" && !one.hide);
  const exemplars = await exemplarsOf(target, { expr, step }, context);
  const found = frames(data, { ...target, legendFormat }, { expr, step, onlyTable: tables.length < 2 });
  return { frames: found, exemplars, query: { refId: target.refId, expr, series: data.result.length } };
}

/** Single observations behind the series: `[{at, value}]`, the highest of each step. */
async function exemplarsOf(target, { expr, step }, { client, range }) {
  if (!target.exemplar || target.instant) return [];
  const [start, end] = [range.from.valueOf() / 1000, range.to.valueOf() / 1000];
  const found = (await client.exemplars(expr, start, end)).flatMap(({ exemplars }) => exemplars);
  const highest = new Map();
  for (const { timestamp, value } of found) {
    const bucket = Math.floor(timestamp / step);
    const point = { at: timestamp * 1000, value: Number(value) };
    if (!(highest.get(bucket)?.value >= point.value)) highest.set(bucket, point);
  }
  return [...highest.values()];
}

const isValue = (value) => value !== null && value !== undefined && !Number.isNaN(value);

/** Whether any field but the time has a value. */
export const hasValues = (series) =>
  series.some(({ fields }) =>
    fields.some(({ type, values }) => type !== "time" && values.some(isValue))
  );

/**
 * `{frames, queries, exemplars, replaceVariables}` of `panel`; raises an Error where a query is refused.
 * `context`: `scope`, `range`, `client`, `scrape` (seconds), `width` (pixels), `theme`, `timeZone`.
 */
export async function panelData(panel, context) {
  const replaceVariables = replacer(context.scope);
  if (!hasQueries(panel)) return { frames: [], queries: [], exemplars: [], replaceVariables };
  const targets = (panel.targets ?? []).filter(({ hide }) => !hide);
  const answers = await Promise.all(targets.map((target) => framesOf(target, panel, context)));
  const series = answers.flatMap((answer) => answer.frames);
  const drawn = await prepared(series, panel, { ...context, replaceVariables });
  const exemplars = answers.flatMap((answer) => answer.exemplars);
  return { frames: drawn, queries: answers.map(({ query }) => query), exemplars, replaceVariables };
}
