// Annotations by Prometheus queries: `[{name, color, from, to, text}]`, times in milliseconds.
import { interpolate, promql } from "./interpolate.js";
import { MOST_POINTS, aligned } from "./steps.js";
import { seconds, stepOf } from "./time.js";

const legend = (format, labels) =>
  (format ?? "").replace(/\{\{\s*(.+?)\s*\}\}/g, (_, label) => labels[label] ?? "");

/** Stretches in which the series is not 0, one event each, as Grafana joins points. */
function stretches(values, step) {
  const found = [];
  for (const [t, value] of values) {
    if (Number(value) === 0) continue;
    const last = found.at(-1);
    if (last && t - last.to <= step * 1.5) last.to = t;
    else found.push({ from: t, to: t });
  }
  return found.map(({ from, to }) => ({ from: from * 1000, to: to * 1000 }));
}

/** Points whose value is itself a time (`useValueForTime`). */
function moments(values, range) {
  const times = [...new Set(values.map(([, value]) => Number(value)))];
  return times
    .filter((t) => t >= range.from.valueOf() && t <= range.to.valueOf())
    .map((t) => ({ from: t, to: t }));
}

async function eventsOf(annotation, { client, range, scope, scrape }) {
  const source = annotation.target ?? annotation;
  const least = seconds(annotation.step || source.step || source.interval || "60s");
  // As Grafana does for a range that Prometheus would refuse for its number of points.
  const { step, scope: builtins } = stepOf(range, MOST_POINTS, `${least}s`, scrape);
  const expr = interpolate(source.expr ?? annotation.expr, { ...scope, ...builtins }, promql);
  const [start, end] = aligned(range, step);
  const { result } = await client.range(expr, start, end, step);
  return result.flatMap(({ metric, values }) => {
    const found = annotation.useValueForTime ? moments(values, range) : stretches(values, step);
    const text = legend(annotation.titleFormat || annotation.textFormat, metric);
    const { name, iconColor: color, filter } = annotation;
    return found.map((one) => ({ ...one, text, name, color, filter }));
  });
}

/** `{events, queries}` of all enabled Prometheus annotations of `dashboard`. */
export async function annotations(dashboard, context) {
  const ours = (dashboard.annotations?.list ?? []).filter(
    (one) => one.enable && !one.builtIn && one.datasource?.type !== "grafana"
  );
  const found = await Promise.all(ours.map((one) => eventsOf(one, context)));
  return { events: found.flat(), annotations: ours.map((one, i) => ({ name: one.name, events: found[i].length })) };
}
