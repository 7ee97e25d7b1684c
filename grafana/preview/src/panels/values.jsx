// Panels of single values: stat, gauge and bar gauge.
import { VizOrientation, getDisplayValueAlignmentFactors, getFieldDisplayValues } from "@grafana/data";
import { BarGauge, BigValue, Gauge, VizRepeater } from "@grafana/ui";

const CALCS = { calcs: ["lastNotNull"], values: false, fields: "" };

function displayValues({ panel, data, theme, timeZone }, sparkline) {
  return getFieldDisplayValues({
    fieldConfig: { defaults: {}, overrides: [], ...panel.fieldConfig },
    reduceOptions: { ...CALCS, ...panel.options.reduceOptions },
    replaceVariables: data.replaceVariables,
    theme,
    data: data.frames,
    sparkline,
    percentChange: panel.options.showPercentChange,
    timeZone,
  });
}

function Repeated({ props, values, spacing, orientation, autoGrid, draw }) {
  const { width, height, data } = props;
  return (
    <VizRepeater
      getValues={() => values}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={draw}
      width={width}
      height={height}
      source={data}
      itemSpacing={spacing}
      renderCounter={0}
      autoGrid={autoGrid}
      orientation={orientation ?? VizOrientation.Auto}
      minVizWidth={props.panel.options.minVizWidth ?? 8}
      minVizHeight={props.panel.options.minVizHeight ?? 16}
      maxVizHeight={props.panel.options.maxVizHeight ?? 300}
    />
  );
}

export function StatPanel(props) {
  const { panel, theme } = props;
  const options = { colorMode: "value", graphMode: "area", justifyMode: "auto", textMode: "auto", wideLayout: true, ...panel.options };
  const values = displayValues(props, options.graphMode !== "none");
  const draw = ({ value, width, height, alignmentFactors, orientation, count }) => (
    <BigValue
      value={value.display}
      count={count}
      sparkline={options.graphMode === "none" ? undefined : value.sparkline}
      colorMode={options.colorMode}
      graphMode={options.graphMode}
      justifyMode={options.justifyMode}
      textMode={options.textMode}
      alignmentFactors={alignmentFactors}
      parentOrientation={orientation}
      text={options.text}
      percentChangeColorMode={options.percentChangeColorMode}
      width={width}
      height={height}
      theme={theme}
      disableWideLayout={!options.wideLayout}
    />
  );
  return <Repeated props={props} values={values} spacing={3} autoGrid orientation={options.orientation} draw={draw} />;
}

export function BarGaugePanel(props) {
  const { panel, theme } = props;
  const options = { displayMode: "gradient", showUnfilled: true, valueMode: "color", namePlacement: "auto", ...panel.options };
  const spacing = options.displayMode === "lcd" ? 2 : 8;
  const values = displayValues(props, false);
  const draw = ({ value, width, height, alignmentFactors, orientation, count }) => (
    <BarGauge
      value={value.display}
      field={value.field}
      text={options.text}
      display={value.view?.getFieldDisplayProcessor(value.colIndex)}
      width={width}
      height={height}
      orientation={orientation}
      theme={theme}
      itemSpacing={spacing}
      displayMode={options.displayMode}
      alignmentFactors={count > 1 ? alignmentFactors : undefined}
      showUnfilled={options.showUnfilled}
      valueDisplayMode={options.valueMode}
      namePlacement={options.namePlacement}
    />
  );
  return <Repeated props={props} values={values} spacing={spacing} orientation={options.orientation} draw={draw} />;
}

export function GaugePanel(props) {
  const { panel, theme } = props;
  const options = { showThresholdLabels: false, showThresholdMarkers: true, ...panel.options };
  const values = displayValues(props, false);
  const draw = ({ value, width, height, count }) => (
    <Gauge
      value={{ ...value.display, title: count > 1 ? value.display.title : "" }}
      field={value.field}
      text={options.text}
      width={width}
      height={height}
      showThresholdLabels={options.showThresholdLabels}
      showThresholdMarkers={options.showThresholdMarkers}
      theme={theme}
    />
  );
  return <Repeated props={props} values={values} spacing={8} autoGrid orientation={options.orientation} draw={draw} />;
}
