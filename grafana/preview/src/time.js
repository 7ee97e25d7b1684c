// Time ranges and steps, as the dashboard and the Prometheus data source compute them.
import { dateTime, rangeUtil } from "@grafana/data";
import { allowed } from "./steps.js";

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** Seconds of a duration such as `15s` or `6h`. */
export function seconds(duration) {
  const match = /^(\d+(?:\.\d+)?)(s|m|h|d|w)$/.exec(duration);
  if (!match) throw new Error(`not a duration: ${duration}`);
  return Number(match[1]) * SECONDS[match[2]];
}

/** The range of `length` (or the dashboard's own) that ends at `at`, in seconds since the epoch. */
export function timeRange(dashboard, at, length) {
  const own = /^now-(\d+\w)$/.exec(dashboard.time?.from ?? "now-6h");
  if (!length && !own) throw new Error(`time.from is ${dashboard.time.from}, not now-…`);
  const span = seconds(length ?? own[1]);
  const [from, to] = [dateTime((at - span) * 1000), dateTime(at * 1000)];
  return { from, to, raw: { from: `now-${length ?? own[1]}`, to: "now" } };
}

/** Built-in variables that depend on the range alone. */
export function rangeScope(range) {
  const [from, to] = [range.from.valueOf(), range.to.valueOf()];
  const span = Math.round((to - from) / 1000);
  const builtins = {
    __range: `${span}s`,
    __range_s: span,
    __range_ms: span * 1000,
    __from: from,
    __to: to,
    __url_time_range: `from=${from}&to=${to}`,
  };
  return asBuiltins(builtins);
}

/** `{step, scope}` of a query: its step in seconds and the built-ins that depend on it. */
export function stepOf(range, points, minimum, scrape) {
  const low = minimum ? seconds(minimum) : scrape;
  const { intervalMs } = rangeUtil.calculateInterval(range, points, `${Math.round(low * 1000)}ms`);
  const span = (range.to.valueOf() - range.from.valueOf()) / 1000;
  const step = allowed(intervalMs / 1000, span);
  const rate = Math.max(step + low, 4 * low);
  const builtins = { __interval: `${step}s`, __interval_ms: step * 1000, __rate_interval: `${rate}s` };
  return { step, scope: asBuiltins(builtins) };
}

function asBuiltins(values) {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([name, value]) => [name, { name, value, builtin: true }]));
}
