import { Icon } from "@grafana/ui";
import { useMemo, useRef } from "react";
import { eventsOn, layout } from "./layout.js";
import { Panel, Row } from "./Panel.jsx";
import { replacer } from "./scope.js";

const shown = (text) => (Array.isArray(text) ? text.join(" + ") : `${text}`);

const Variable = ({ variable }) => (
  <div className="preview-variable">
    <label>{variable.label}</label>
    <span>
      {shown(variable.text) || "None"} <Icon name="angle-down" />
    </span>
  </div>
);

const Link = ({ link }) => (
  <span className="preview-button">
    {<Icon name={link.icon === "external link" ? "external-link-alt" : "apps"} />} {link.title}
  </span>
);

function Toolbar({ dashboard, note, range }) {
  const [from, to] = [range.from, range.to].map((t) => t.utc().format("YYYY-MM-DD HH:mm:ss"));
  return (
    <div className="preview-toolbar">
      <span>
        Dashboards <Icon name="angle-right" /> <b>{dashboard.title}</b>
      </span>
      <em>{note}</em>
      <span className="preview-button">
        <Icon name="clock-nine" /> {from} to {to} UTC
      </span>
    </div>
  );
}

/** The links of the dashboard; one by tags stands for the other dashboards that have them. */
function linksOf(dashboard, siblings) {
  const tagged = (tags) =>
    siblings.filter((one) => one.uid !== dashboard.uid && tags.every((tag) => one.tags?.includes(tag)));
  return (dashboard.links ?? []).flatMap((link) =>
    link.type === "dashboards" && !link.asDropdown ? tagged(link.tags) : [link]
  );
}

function Controls({ dashboard, siblings, variables }) {
  const links = linksOf(dashboard, siblings);
  const visible = Object.values(variables).filter(({ hide }) => hide !== 2);
  return (
    <div className="preview-controls">
      {visible.map((variable) => (
        <Variable key={variable.name} variable={variable} />
      ))}
      <div className="preview-links">
        {links.map((link) => (
          <Link key={link.title} link={link} />
        ))}
      </div>
    </div>
  );
}

/** Tells `onDone` once, when every one of `count` items has an outcome. */
function useReport(count, onDone) {
  const found = useRef(new Map());
  return (key, title, status) => {
    // A panel that fails while it is drawn has failed, whatever its data said.
    if (found.current.get(key)?.status !== "error") found.current.set(key, { panel: title, ...status });
    if (found.current.size === count) onDone([...found.current.values()]);
  };
}

const PADDING = 16;

export function Page({ dashboard, siblings, note, variables, context, events, width, expand, onDone }) {
  const { items, height } = useMemo(
    () => layout(dashboard.panels, width - 2 * PADDING, { expand, scope: variables }),
    [dashboard, width]
  );
  const report = useReport(items.filter(({ panel }) => panel.type !== "row").length, onDone);
  return (
    <div className="preview-page">
      <Toolbar dashboard={dashboard} note={note} range={context.range} />
      <Controls dashboard={dashboard} siblings={siblings} variables={variables} />
      <div className="preview-grid" style={{ height }}>
        {items.map(({ panel, scope, box }, i) => {
          const own = { ...context, scope: { ...context.scope, ...scope } };
          if (panel.type === "row") {
            return <Row key={i} panel={panel} box={box} title={replacer(own.scope)(panel.title)} />;
          }
          const done = (status) => report(i, panel.title, status);
          return <Panel key={i} panel={panel} box={box} context={own} events={eventsOn(events, panel.id)} onDone={done} />;
        })}
      </div>
    </div>
  );
}
