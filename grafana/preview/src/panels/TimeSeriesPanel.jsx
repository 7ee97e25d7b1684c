import { FieldType } from "@grafana/data";
import { TimeSeries } from "@grafana/ui";
import { useMemo } from "react";
import { useMarks } from "./useMarks.js";

// The panel's own defaults, which the Grafana server adds to what a dashboard leaves out.
const DEFAULTS = {
  drawStyle: "line", lineInterpolation: "linear", barAlignment: 0, barWidthFactor: 0.6, lineWidth: 1,
  fillOpacity: 0, gradientMode: "none", spanNulls: false, insertNulls: false, showPoints: "auto",
  pointSize: 5, stacking: { mode: "none", group: "A" }, axisPlacement: "auto", axisLabel: "",
  axisColorMode: "text", axisBorderShow: false, scaleDistribution: { type: "linear" },
  axisCenteredZero: false, hideFrom: { tooltip: false, viz: false, legend: false },
  thresholdsStyle: { mode: "off" },
};

function graphable(field) {
  if (field.type !== FieldType.number) return field;
  const custom = { ...DEFAULTS, ...field.config.custom };
  const values = field.values.map((value) => (Number.isFinite(value) ? value : null));
  return { ...field, values, config: { ...field.config, custom } };
}

/** Frames that can be drawn over time, with the panel's defaults on their fields. */
export const graphableFrames = (frames) =>
  frames
    .filter(({ fields }) => fields.some(({ type }) => type === FieldType.time))
    .map((frame) => ({ ...frame, fields: frame.fields.map(graphable) }));

function Marks({ config, events, exemplars, theme }) {
  useMarks(config, { events, exemplars }, theme);
  return null;
}

export function TimeSeriesPanel({ panel, data, range, width, height, events, theme, timeZone }) {
  const frames = useMemo(() => graphableFrames(data.frames), [data.frames]);
  const { legend = { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] } } = panel.options;
  return (
    <TimeSeries
      frames={frames}
      structureRev={1}
      timeRange={range}
      timeZone={timeZone}
      width={width}
      height={height}
      legend={legend}
      options={panel.options}
    >
      {(config) => <Marks config={config} events={events} exemplars={data.exemplars} theme={theme} />}
    </TimeSeries>
  );
}
