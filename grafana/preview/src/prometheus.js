// The HTTP API of Prometheus, and its answers as Grafana's data frames.
import { FieldType, toDataFrame } from "@grafana/data";

/** A client of the Prometheus at `base`; every method throws an Error that says what was refused. */
export function prometheus(base) {
  const get = async (path, params) => {
    const url = `${base.replace(/\/$/, "")}/api/v1/${path}?${new URLSearchParams(params)}`;
    const body = await (await fetch(url)).json();
    if (body.status !== "success") throw new Error(`${body.error} (${path})`);
    return body.data;
  };
  return {
    range: (query, start, end, step) => get("query_range", { query, start, end, step }),
    exemplars: (query, start, end) => get("query_exemplars", { query, start, end }),
    instant: (query, time) => get("query", { query, time }),
    labelValues: (label, match, start, end) =>
      get(`label/${label}/values`, match ? { "match[]": match, start, end } : { start, end }),
  };
}

const number = (text) => (text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text));
const samples = (series) => series.values ?? [series.value];

function seriesName({ __name__: name = "", ...labels }) {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return pairs.length ? `${name}{${pairs.join(", ")}}` : name;
}

/** The display name by `legendFormat`; undefined for `__auto`, where Grafana finds one itself. */
function legend(format, labels, expr) {
  if (format === "__auto") return undefined;
  if (!format) return seriesName(labels) || expr;
  return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, label) => labels[label] ?? "");
}

function seriesFrame(series, target, expr, step) {
  const { __name__: _, ...labels } = series.metric;
  const name = legend(target.legendFormat, series.metric, expr);
  const points = samples(series);
  return toDataFrame({
    refId: target.refId,
    name,
    meta: { type: "timeseries-multi" },
    fields: [
      { name: "Time", type: FieldType.time, values: points.map(([t]) => t * 1000), config: { interval: step * 1000 } },
      { name: "Value", type: FieldType.number, labels, values: points.map(([, v]) => number(v)), config: { displayNameFromDS: name } },
    ],
  });
}

function tableFrame(result, target, onlyTable) {
  const rows = result.flatMap((series) => samples(series).map((point) => ({ labels: series.metric, point })));
  const labels = [...new Set(result.flatMap((series) => Object.keys(series.metric)))].sort();
  const value = onlyTable ? "Value" : `Value #${target.refId}`;
  return toDataFrame({
    refId: target.refId,
    fields: [
      { name: "Time", type: FieldType.time, values: rows.map(({ point }) => point[0] * 1000) },
      ...labels.map((name) => ({ name, type: FieldType.string, values: rows.map((row) => row.labels[name] ?? "") })),
      { name: value, type: FieldType.number, values: rows.map(({ point }) => number(point[1])) },
    ],
  });
}

/** Cumulative `le` buckets on one time axis → the counts of each bucket, lowest first. */
function heatmapFrame(result, target) {
  const sorted = [...result].sort((a, b) => number(a.metric.le) - number(b.metric.le));
  const times = [...new Set(sorted.flatMap((series) => samples(series).map(([t]) => t)))].sort((a, b) => a - b);
  const cumulative = sorted.map((series) => {
    const at = new Map(samples(series).map(([t, v]) => [t, number(v)]));
    return times.map((t) => at.get(t) ?? null);
  });
  const counts = (column, index) =>
    column.map((v, i) => (v === null ? null : Math.max(0, v - (cumulative[index - 1]?.[i] ?? 0))));
  return toDataFrame({
    refId: target.refId,
    meta: { type: "heatmap-rows" },
    fields: [
      { name: "Time", type: FieldType.time, values: times.map((t) => t * 1000) },
      ...cumulative.map((column, index) => ({
        name: sorted[index].metric.le,
        type: FieldType.number,
        values: counts(column, index),
      })),
    ],
  });
}

/** Data frames of one answer (`matrix` or `vector`) to `target`. */
export function frames(data, target, { expr, step, onlyTable }) {
  const { result, resultType } = data;
  if (resultType === "scalar") return [seriesFrame({ metric: {}, value: result }, target, expr, step)];
  if (!result.length) return [];
  if (target.format === "table") return [tableFrame(result, target, onlyTable)];
  if (target.format === "heatmap") return [heatmapFrame(result, target)];
  return result.map((series) => seriesFrame(series, target, expr, step));
}
