// Steps of range queries as Grafana has them, without anything of Grafana's.

/** Prometheus refuses to answer with more points a series. */
export const MOST_POINTS = 11000;

/** The step, or the least whole second with which `span` seconds have no more points than that. */
export function allowed(step, span) {
  return span / step < MOST_POINTS - 1 ? step : Math.ceil(span / (MOST_POINTS - 1));
}

/** Start and end in seconds, rounded down to a multiple of the step, as Grafana rounds them. */
export function aligned(range, step) {
  const down = (t) => Math.floor(t.valueOf() / 1000 / step) * step;
  return [down(range.from), down(range.to)];
}
