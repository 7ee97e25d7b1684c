// Variables in texts and queries, as Grafana and its Prometheus data source put them in.

const PATTERN = /\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}/g;

const escapeRegex = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
const list = (value) => (Array.isArray(value) ? value : [value]);
const alternatives = (values) => (values.length === 1 ? values[0] : `(${values.join("|")})`);

const FORMATS = {
  regex: (value) => alternatives(list(value).map(escapeRegex)),
  pipe: (value) => list(value).join("|"),
  csv: (value) => list(value).join(","),
  raw: (value) => list(value).join(","),
  json: (value) => JSON.stringify(value),
  percentencode: (value) => encodeURIComponent(glob(value)),
  queryparam: (value, name) =>
    list(value)
      .map((one) => `var-${name}=${encodeURIComponent(one)}`)
      .join("&"),
};

const glob = (value) =>
  Array.isArray(value) && value.length !== 1 ? `{${value.join(",")}}` : `${list(value)[0]}`;

/** One variable in a PromQL string: doubly escaped, as the data source does it. */
export function promql(value, variable) {
  if (!variable.multi && !variable.includeAll) {
    return `${value}`.replace(/\\/g, "\\\\").replace(/'/g, "\\\\'");
  }
  const escape = (one) =>
    one.replace(/\\/g, "\\\\\\\\").replace(/[$^*{}[\]'+?.()|]/g, "\\\\$&");
  return alternatives(list(value).map(escape));
}

function formatted(variable, field, format, otherwise) {
  if (variable.lookup) return variable.lookup(field);
  if (field === "text" || format === "text") return list(variable.text ?? variable.value).join(" + ");
  if (variable.builtin) return `${variable.value}`;
  const { value, name } = variable;
  if (variable.all && variable.allValue && format !== "queryparam") return variable.allValue;
  if (format === "queryparam" && variable.all) return `var-${name}=$__all`;
  if (!format) return otherwise(value, variable);
  const known = FORMATS[format];
  if (!known) throw new Error(`the preview does not know the variable format ${format}`);
  return known(value, name);
}

/**
 * `text` with its variables put in; one that is not in `scope` stays as it stands.
 * `otherwise` formats what names no format of its own: `promql` in queries, a glob elsewhere.
 */
export function interpolate(text, scope, otherwise = glob) {
  return `${text ?? ""}`.replace(PATTERN, (whole, plain, square, squareFormat, braced, field, format) => {
    const variable = scope[plain ?? square ?? braced];
    return variable ? formatted(variable, field, squareFormat ?? format, otherwise) : whole;
  });
}

/** The names of variables in `text` that `scope` does not have. */
export function unresolved(text, scope) {
  const names = [...`${text ?? ""}`.matchAll(PATTERN)].map((match) => match[1] ?? match[2] ?? match[4]);
  return names.filter((name) => name && !(name in scope) && !/^\d+$/.test(name));
}
