import { useLayoutEffect, useRef } from "react";
import { colorManipulator } from "@grafana/data";

const MARK = 4;

function drawEvent(u, event, theme) {
  const color = theme.visualization.getColorByName(event.color ?? "red");
  const { ctx, bbox } = u;
  const x = (t) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(t, "x", true)));
  const [from, to] = [x(event.from), x(event.to)];
  if (event.to > event.from) {
    ctx.fillStyle = colorManipulator.alpha(color, 0.1);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.strokeStyle = color;
  ctx.lineWidth = 2;
  ctx.setLineDash([5, 5]);
  for (const at of new Set([from, to])) {
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  ctx.fillStyle = color;
  ctx.fillRect(from - MARK, bbox.top + bbox.height, to - from + 2 * MARK, MARK);
}

/** A diamond at the single observation; one beyond the scale stands at its edge. */
function drawExemplar(u, { at, value }, key, theme) {
  const { min, max } = u.scales[key];
  const [x, y] = [u.valToPos(at, "x", true), u.valToPos(Math.min(max, Math.max(min, value)), key, true)];
  const size = 4 * devicePixelRatio;
  const { ctx } = u;
  ctx.beginPath();
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.lineTo(x - size, y);
  ctx.closePath();
  ctx.fillStyle = theme.colors.primary.main;
  ctx.fill();
}

/**
 * Draws `events` and `exemplars` over a uPlot chart; simpler than Grafana's: lines, a shade, a mark
 * at the axis; diamonds.
 */
export function useMarks(config, { events, exemplars }, theme) {
  const latest = useRef();
  latest.current = { events, exemplars };
  useLayoutEffect(() => {
    config.addHook("draw", (u) => {
      const { min, max } = u.scales.x;
      const [, key] = config.scaleKeys;
      u.ctx.save();
      latest.current.events
        .filter(({ from, to }) => to >= min && from <= max)
        .forEach((event) => drawEvent(u, event, theme));
      latest.current.exemplars.forEach((exemplar) => drawExemplar(u, exemplar, key, theme));
      u.ctx.restore();
    });
  }, [config]);
}
