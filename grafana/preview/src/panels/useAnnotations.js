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

/** Draws `events` over a uPlot chart; simpler than Grafana's: lines, a shade, a mark at the axis. */
export function useAnnotations(config, events, theme) {
  const latest = useRef(events);
  latest.current = events;
  useLayoutEffect(() => {
    config.addHook("draw", (u) => {
      const { min, max } = u.scales.x;
      u.ctx.save();
      latest.current
        .filter(({ from, to }) => to >= min && from <= max)
        .forEach((event) => drawEvent(u, event, theme));
      u.ctx.restore();
    });
  }, [config]);
}
