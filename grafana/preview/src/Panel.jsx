import { LoadingState } from "@grafana/data";
import { Icon, PanelChrome } from "@grafana/ui";
import { Component, useEffect, useState } from "react";
import { hasQueries, hasValues, panelData } from "./panelData.js";
import { TimeSeriesPanel } from "./panels/TimeSeriesPanel.jsx";
import { BarGaugePanel, GaugePanel, StatPanel } from "./panels/values.jsx";
import { TablePanel, TextPanel } from "./panels/plain.jsx";
import { HeatmapPanel, StateTimelinePanel } from "./panels/drawn.jsx";

const KINDS = {
  timeseries: TimeSeriesPanel,
  stat: StatPanel,
  bargauge: BarGaugePanel,
  gauge: GaugePanel,
  table: TablePanel,
  text: TextPanel,
  heatmap: HeatmapPanel,
  "state-timeline": StateTimelinePanel,
};
// These show `noValue` in place of "No data", as they do in Grafana.
const SHOWS_NO_VALUE = new Set(["stat", "bargauge", "gauge"]);

const Centered = ({ children }) => (
  <div className="preview-centered">{children}</div>
);

class Guard extends Component {
  state = {};
  static getDerivedStateFromError(error) {
    return { error };
  }
  componentDidCatch(error) {
    this.props.onError(error);
  }
  render() {
    return this.state.error ? <Centered>{`${this.state.error}`}</Centered> : this.props.children;
  }
}

/** What the report says of a panel: `{status, text?, queries}`. */
export function outcome(panel, { error, frames = [], queries = [] }) {
  if (error) return { status: "error", text: `${error.message ?? error}`, queries };
  if (!KINDS[panel.type]) return { status: "error", text: `no preview of ${panel.type}`, queries };
  if (!hasQueries(panel) || hasValues(frames)) return { status: "ok", queries };
  const noValue = panel.fieldConfig?.defaults?.noValue;
  return noValue ? { status: "no value", text: noValue, queries } : { status: "no data", queries };
}

function Body({ panel, data, status, ...rest }) {
  if (status.status === "error") return <Centered>{status.text}</Centered>;
  const empty = status.status === "no data" || (status.status === "no value" && !SHOWS_NO_VALUE.has(panel.type));
  if (empty) return <Centered>{status.text ?? "No data"}</Centered>;
  const Kind = KINDS[panel.type];
  return <Kind panel={panel} data={data} {...rest} />;
}

export function Row({ panel, box, title }) {
  return (
    <div className="preview-row" style={box}>
      <Icon name={panel.collapsed ? "angle-right" : "angle-down"} />
      <span>{title}</span>
      {panel.collapsed && <small>({panel.panels.length} panels)</small>}
    </div>
  );
}

const Links = ({ links }) =>
  links?.length ? <PanelChrome.TitleItem title={links[0].title}><Icon name="external-link-alt" size="sm" /></PanelChrome.TitleItem> : null;

/** One panel in its box: asks its queries, draws, and tells `onDone` the outcome. */
export function Panel({ panel, box, context, events, onDone }) {
  const [data, setData] = useState(null);
  const { width } = box;
  useEffect(() => {
    panelData(panel, { ...context, width })
      .catch((error) => ({ error, frames: [], exemplars: [], replaceVariables: (text) => text }))
      .then((found) => setData({ ...found, status: outcome(panel, found) }));
  }, []);
  useEffect(() => {
    if (data) requestAnimationFrame(() => requestAnimationFrame(() => onDone(data.status)));
  }, [data]);
  const title = data?.replaceVariables(panel.title) ?? panel.title;
  const { range, theme, timeZone } = context;
  return (
    <div style={{ position: "absolute", ...box }}>
      <PanelChrome
        title={title}
        description={panel.description}
        displayMode={panel.transparent ? "transparent" : "default"}
        width={box.width}
        height={box.height}
        hoverHeader={!panel.title}
        loadingState={data ? LoadingState.Done : LoadingState.Loading}
        padding={panel.type === "table" ? "none" : "md"}
        titleItems={<Links links={panel.links} />}
      >
        {(w, h) =>
          data && (
            <Guard onError={(error) => onDone({ status: "error", text: `${error}`, queries: [] })}>
              <Body panel={panel} data={data} status={data.status} width={w} height={h} {...{ range, theme, timeZone, events }} />
            </Guard>
          )
        }
      </PanelChrome>
    </div>
  );
}
