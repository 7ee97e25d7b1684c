// Panels that @grafana/ui has no component for: axes by its uPlot builder, the rest drawn here.
import { FieldType, formattedValueToString, getFieldDisplayName, getValueFormat } from "@grafana/data";
import { AxisPlacement, ScaleDirection, ScaleDistribution, ScaleOrientation } from "@grafana/schema";
import { UPlotChart, UPlotConfigBuilder, VizLayout, VizLegend, measureText } from "@grafana/ui";
import * as d3 from "d3";
import { useMemo } from "react";

const AXIS_FONT = 12;
const AXIS_GAPS = 20;

function chartConfig({ theme, timeZone, range, bounds, splits, labels, paint }) {
  const builder = new UPlotConfigBuilder(timeZone);
  builder.setPrepData((frames) => frames[0].fields.map(({ values }) => values));
  builder.addScale({
    scaleKey: "x",
    isTime: true,
    orientation: ScaleOrientation.Horizontal,
    direction: ScaleDirection.Right,
    range: () => [range.from.valueOf(), range.to.valueOf()],
  });
  builder.addAxis({ scaleKey: "x", isTime: true, placement: AxisPlacement.Bottom, timeZone, theme, grid: { show: false } });
  builder.addScale({
    scaleKey: "y",
    orientation: ScaleOrientation.Vertical,
    direction: ScaleDirection.Up,
    distribution: ScaleDistribution.Ordinal,
    range: () => bounds,
  });
  builder.addAxis({
    scaleKey: "y",
    placement: AxisPlacement.Left,
    theme,
    gap: 8,
    size: AXIS_GAPS + Math.max(...labels.map((label) => measureText(label, AXIS_FONT).width)),
    splits: () => splits,
    values: () => labels,
    grid: { show: false },
    ticks: { show: false },
  });
  builder.addSeries({ scaleKey: "y", theme, pathBuilder: () => null, pointsBuilder: () => null });
  builder.addHook("draw", (u) => {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    paint(u);
    u.ctx.restore();
  });
  return builder;
}

function Chart({ parts, times, width, height, deps }) {
  const config = useMemo(() => chartConfig(parts), deps);
  const data = [times, times.map(() => null)];
  return <UPlotChart config={config} data={data} width={width} height={height} />;
}

/** The colour of the share `t` of the highest count, as Grafana's heatmap has it. */
function heatColor(options, theme) {
  const { scheme = "Oranges", reverse = false, mode, exponent = 0.5 } = options.color ?? {};
  if (mode === "opacity") {
    const color = d3.color(theme.visualization.getColorByName(options.color.fill ?? "dark-orange"));
    return (t) => `${color.copy({ opacity: t ** exponent })}`;
  }
  const interpolator = d3[`interpolate${scheme}`] ?? d3.interpolateOranges;
  const flip = theme.isDark !== reverse;
  return (t) => interpolator(flip ? 1 - t : t);
}

const bucketLabels = (fields, unit, decimals) =>
  fields.map(({ name }) => {
    const bound = name === "+Inf" ? Infinity : Number(name);
    if (Number.isNaN(bound) || !Number.isFinite(bound)) return name;
    return formattedValueToString(getValueFormat(unit)(bound, decimals));
  });

function paintCells(u, times, fields, color, counts, gap) {
  const width = Math.max(1, u.valToPos(times[1] ?? times[0] + 1, "x", true) - u.valToPos(times[0], "x", true));
  const cell = (i, row, value) => {
    const [top, bottom] = [u.valToPos(row + 0.5, "y", true), u.valToPos(row - 0.5, "y", true)];
    const right = u.valToPos(times[i], "x", true);
    u.ctx.fillStyle = color(Math.min(1, value / counts.max));
    u.ctx.fillRect(right - width + gap, top + gap, width - gap, bottom - top - gap);
  };
  fields.forEach(({ values }, row) =>
    values.forEach((value, i) => value > counts.least && cell(i, row, value))
  );
}

export function HeatmapPanel({ panel, data, range, width, height, theme, timeZone }) {
  const { options } = panel;
  const [time, ...rest] = data.frames[0].fields;
  const fields = rest.filter(({ type }) => type === FieldType.number);
  const values = fields.flatMap((field) => field.values.filter((value) => value !== null));
  const counts = { max: Math.max(...values, 1e-9), least: options.filterValues?.le ?? 1e-9 };
  const color = heatColor(options, theme);
  const labels = bucketLabels(fields, options.yAxis?.unit ?? "short", options.yAxis?.decimals);
  const every = Math.max(1, Math.ceil(fields.length / Math.max(2, Math.floor((height - 40) / 16))));
  const rows = fields.map((_, i) => i).filter((i) => i % every === 0);
  const parts = {
    theme,
    timeZone,
    range,
    bounds: [-0.5, fields.length - 0.5],
    splits: rows,
    labels: rows.map((i) => labels[i]),
    paint: (u) => paintCells(u, time.values, fields, color, counts, options.cellGap ?? 1),
  };
  return <Chart parts={parts} times={time.values} width={width} height={height} deps={[data, width, height, theme]} />;
}

/** Stretches of one value: `[{from, to, value}]`, times in milliseconds. */
function runs(times, values, end) {
  const found = [];
  times.forEach((t, i) => {
    const value = values[i];
    const last = found.at(-1);
    if (last) last.to = t;
    if (value === null || value === undefined) return;
    if (!last || last.value !== value || last.open === false) found.push({ from: t, to: t, value });
  });
  if (found.length) found.at(-1).to = Math.min(end, times.at(-1));
  return found;
}

function paintRuns(u, rows, options, theme) {
  const share = (options.rowHeight ?? 0.9) / 2;
  rows.forEach(({ field, found }, row) => {
    const y = rows.length - 1 - row;
    const [top, bottom] = [u.valToPos(y + share, "y", true), u.valToPos(y - share, "y", true)];
    found.forEach(({ from, to, value }) => {
      const shown = field.display(value);
      const left = Math.max(u.bbox.left, u.valToPos(from, "x", true));
      const right = u.valToPos(to, "x", true);
      u.ctx.fillStyle = shown.color;
      u.ctx.globalAlpha = (field.config.custom?.fillOpacity ?? 70) / 100;
      u.ctx.fillRect(left, top, Math.max(1, right - left), bottom - top);
      u.ctx.globalAlpha = 1;
      drawLabel(u.ctx, formattedValueToString(shown), { left, right, top, bottom }, options, theme);
    });
  });
}

function drawLabel(ctx, text, { left, right, top, bottom }, { showValue = "auto" }, theme) {
  if (showValue === "never") return;
  ctx.font = `${12 * devicePixelRatio}px ${theme.typography.fontFamily}`;
  if (showValue === "auto" && ctx.measureText(text).width > right - left - 8) return;
  ctx.fillStyle = theme.colors.text.primary;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, left + 4, (top + bottom) / 2);
}

function legendItems(rows) {
  const seen = new Map();
  for (const { field, found } of rows) {
    for (const { value } of found) {
      const shown = field.display(value);
      seen.set(formattedValueToString(shown), shown.color);
    }
  }
  return [...seen].map(([label, color]) => ({ label, color, yAxis: 1 }));
}

export function StateTimelinePanel({ panel, data, range, width, height, theme, timeZone }) {
  const { options } = panel;
  const rows = data.frames.flatMap((frame) => {
    const time = frame.fields.find(({ type }) => type === FieldType.time);
    const others = frame.fields.filter((field) => field !== time && !field.config.custom?.hideFrom?.viz);
    return others.map((field) => ({
      field,
      name: getFieldDisplayName(field, frame, data.frames),
      times: time.values,
      found: runs(time.values, field.values, range.to.valueOf()),
    }));
  });
  const splits = rows.map((_, i) => rows.length - 1 - i);
  const parts = {
    theme,
    timeZone,
    range,
    bounds: [-0.5, rows.length - 0.5],
    splits,
    labels: rows.map(({ name }) => name),
    paint: (u) => paintRuns(u, rows, options, theme),
  };
  const legend =
    options.legend?.showLegend === false ? null : (
      <VizLayout.Legend placement="bottom">
        <VizLegend placement="bottom" displayMode="list" items={legendItems(rows)} />
      </VizLayout.Legend>
    );
  return (
    <VizLayout width={width} height={height} legend={legend}>
      {(w, h) => <Chart parts={parts} times={rows[0].times} width={w} height={h} deps={[data, w, h, theme]} />}
    </VizLayout>
  );
}
