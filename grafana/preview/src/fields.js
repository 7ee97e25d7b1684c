// What the Grafana server registers at its start and the packages leave open: which field options
// and which transformations there are.
import {
  FieldConfigOptionsRegistry,
  applyFieldOverrides,
  standardTransformers,
  standardTransformersRegistry,
  transformDataFrame,
} from "@grafana/data";
import { firstValueFrom } from "rxjs";

const STANDARD = [
  "unit", "min", "max", "decimals", "displayName", "noValue", "thresholds", "mappings", "links",
  "color", "fieldMinMax", "filterable", "description", "actions",
];

// How a kind of panel colours what names no colour.
const THRESHOLDS = { mode: "thresholds" };
const COLORS = { timeseries: { mode: "palette-classic" } };

/** A display name with its variables put in, `${__field.labels.x}` among them. */
function named(value, { field, replaceVariables }) {
  return value && replaceVariables(value, field.state.scopedVars);
}

const item = (id, path, isCustom) => ({
  id,
  path,
  name: id,
  isCustom,
  override: null,
  editor: null,
  process: id === "displayName" ? named : (value) => value,
  shouldApply: () => true,
});

/** A registry of the standard options and of every custom option that `fieldConfig` uses. */
function registryFor(fieldConfig) {
  const overridden = fieldConfig.overrides.flatMap(({ properties }) => properties.map(({ id }) => id));
  const custom = new Set([
    ...Object.keys(fieldConfig.defaults.custom ?? {}),
    ...overridden.filter((id) => id.startsWith("custom.")).map((id) => id.slice("custom.".length)),
  ]);
  return new FieldConfigOptionsRegistry(() => [
    ...STANDARD.map((id) => item(id, id, false)),
    ...[...custom].map((path) => item(`custom.${path}`, path, true)),
  ]);
}

export function registerTransformers() {
  standardTransformersRegistry.setInit(() =>
    [...new Set(Object.values(standardTransformers))].map((transformation) => ({
      id: transformation.id,
      name: transformation.name,
      transformation,
    }))
  );
}

/** `frames` after the transformations and with the field options of `panel` on them. */
export async function prepared(frames, panel, { replaceVariables, theme, timeZone }) {
  const transformed = await firstValueFrom(
    transformDataFrame(panel.transformations ?? [], frames, { interpolate: replaceVariables })
  );
  const { defaults = {}, overrides = [] } = panel.fieldConfig ?? {};
  const fieldConfig = { defaults: { color: COLORS[panel.type] ?? THRESHOLDS, ...defaults }, overrides };
  return applyFieldOverrides({
    data: transformed,
    fieldConfig,
    fieldConfigRegistry: registryFor(fieldConfig),
    replaceVariables,
    theme,
    timeZone,
  });
}
