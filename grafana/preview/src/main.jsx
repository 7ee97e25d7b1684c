// The page: draws one dashboard for one time range, then says what it drew in `window.report`.
import "@fontsource-variable/inter";
import "@fontsource-variable/roboto-mono";
import { EventBusSrv, ThemeContext, createTheme, locationUtil } from "@grafana/data";
import { GlobalStyles, PanelContextProvider } from "@grafana/ui";
import { createRoot } from "react-dom/client";
import { Page } from "./Page.jsx";
import { annotations } from "./annotations.js";
import { registerTransformers } from "./fields.js";
import { prometheus } from "./prometheus.js";
import { style } from "./style.js";
import { rangeScope, timeRange } from "./time.js";
import { resolveVariables } from "./variables.js";

const GRAFANA = "11.6";
const TIME_ZONE = "utc";
// The names by which the font packages know the two fonts of Grafana.
const FONTS = {
  fontFamily: "'Inter Variable', Helvetica, Arial, sans-serif",
  fontFamilyMonospace: "'Roboto Mono Variable', monospace",
};

/** The values that the address asks for: `var-NAME=value`, several times for several. */
function askedValues(params) {
  const names = [...new Set([...params.keys()].filter((key) => key.startsWith("var-")))];
  return Object.fromEntries(names.map((key) => [key.slice(4), params.getAll(key)]));
}

const json = async (path) => (await fetch(path)).json();

async function prepare(params) {
  const [dashboard, siblings] = await Promise.all([json(params.get("dashboard")), json("/dashboards/")]);
  const client = prometheus(params.get("prometheus"));
  const at = Number(params.get("at") ?? Date.now() / 1000);
  const range = timeRange(dashboard, at, params.get("range"));
  const scrape = Number(params.get("scrape") ?? 15);
  const base = rangeScope(range);
  const variables = await resolveVariables(dashboard, base, { client, range, asked: askedValues(params) });
  const scope = { ...base, ...variables };
  const theme = createTheme({ colors: { mode: params.get("theme") ?? "dark" }, typography: FONTS });
  const context = { client, range, scrape, scope, theme, timeZone: TIME_ZONE };
  const marks = await annotations(dashboard, context);
  return { dashboard, siblings, variables, context, marks };
}

const panelContext = () => ({
  eventsScope: "__global_",
  eventBus: new EventBusSrv(),
  sync: () => 0,
  canAddAnnotations: () => false,
});

function draw({ dashboard, siblings, variables, context, marks }, params) {
  const { theme } = context;
  document.head.append(Object.assign(document.createElement("style"), { textContent: style(theme) }));
  const note = `Preview of the JSON with components of Grafana ${GRAFANA}; not a Grafana server`;
  const onDone = (panels) => {
    window.report = { dashboard: dashboard.title, panels, annotations: marks.annotations };
  };
  createRoot(document.getElementById("root")).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PanelContextProvider value={panelContext()}>
        <Page {...{ dashboard, siblings, note, variables, context, onDone }} events={marks.events}
          width={document.documentElement.clientWidth} expand={params.get("expand") === "1"} />
      </PanelContextProvider>
    </ThemeContext.Provider>
  );
}

async function main() {
  const params = new URLSearchParams(location.search);
  locationUtil.initialize({ config: { appSubUrl: "" }, getVariablesUrlParams: () => ({}), getTimeRangeForUrl: () => ({}) });
  registerTransformers();
  await document.fonts.ready;
  draw(await prepare(params), params);
}

main().catch((error) => {
  window.report = { error: `${error.message ?? error}` };
});
