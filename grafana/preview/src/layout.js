// Grafana's grid: 24 columns, rows of 30 px, 8 px between.
const [COLUMNS, ROW, GAP] = [24, 30, 8];

const bottomOf = (items) => Math.max(0, ...items.map(({ gridPos: { y, h } }) => y + h));
const lower = (items, by) =>
  items.map((item) => ({ ...item, gridPos: { ...item.gridPos, y: item.gridPos.y + by } }));

/** One scope for each value of the variable that something is repeated for; `[{}]` without one. */
function scopesOf(name, scope) {
  const variable = scope[name];
  if (!variable) return [{}];
  const values = Array.isArray(variable.value) ? variable.value : [variable.value];
  return values.map((value) => ({ [name]: { ...variable, value, text: value, all: false } }));
}

function repeatedPanel(panel, scope) {
  const { gridPos } = panel;
  if (!panel.repeat) return [{ panel, gridPos, scope: {} }];
  const scopes = scopesOf(panel.repeat, scope);
  const perLine = panel.repeatDirection === "v" ? 1 : Math.min(scopes.length, panel.maxPerRow ?? 4);
  const w = panel.repeatDirection === "v" ? gridPos.w : COLUMNS / perLine;
  return scopes.map((own, i) => {
    const y = gridPos.y + Math.floor(i / perLine) * gridPos.h;
    return { panel, scope: own, gridPos: { w, h: gridPos.h, y, x: gridPos.x + (i % perLine) * w } };
  });
}

/** Panels in the order of the page, each line pushed down by what grew above it. */
function placed(panels, scope) {
  let shift = 0;
  return panels.flatMap((panel) => {
    const found = lower(repeatedPanel(panel, scope), shift);
    shift = Math.max(shift, bottomOf(found) - bottomOf([panel]));
    return found;
  });
}

/** `[{row, panels}]`: a heading, or none, and what stands below it. */
function sections(panels) {
  const found = [{ row: null, panels: [] }];
  const ordered = [...panels].sort((a, b) => a.gridPos.y - b.gridPos.y || a.gridPos.x - b.gridPos.x);
  for (const panel of ordered) {
    if (panel.type === "row") found.push({ row: panel, panels: [] });
    // A collapsed row has its panels within it: what follows is not below it.
    if (panel.collapsed) found.push({ row: null, panels: [] });
    if (panel.type !== "row") found.at(-1).panels.push(panel);
  }
  return found.filter(({ row, panels: below }) => row || below.length);
}

function sectionItems({ row, panels }, { expand, scope }) {
  if (!row) return placed(panels, scope);
  const open = !row.collapsed || expand;
  const below = row.collapsed && expand ? row.panels : panels;
  const heading = { panel: { ...row, collapsed: !open }, gridPos: row.gridPos, scope: {} };
  let shift = 0;
  return scopesOf(row.repeat, scope).flatMap((own) => {
    const copy = [heading, ...(open ? placed(below, { ...scope, ...own }) : [])];
    const found = lower(copy, shift);
    shift += bottomOf(copy) - row.gridPos.y;
    return found.map((item) => ({ ...item, scope: { ...own, ...item.scope } }));
  });
}

function box({ x, y, w, h }, column) {
  return {
    left: Math.round(x * (column + GAP)),
    top: y * (ROW + GAP),
    width: Math.round(w * column + (w - 1) * GAP),
    height: h * ROW + (h - 1) * GAP,
  };
}

/** `{items: [{panel, scope, box}], height}`: every panel with its box in pixels. */
export function layout(panels, width, options) {
  const column = (width - GAP * (COLUMNS - 1)) / COLUMNS;
  let y = 0;
  const items = sections(panels).flatMap((section) => {
    const own = sectionItems(section, options);
    const found = lower(own, y - Math.min(...own.map(({ gridPos }) => gridPos.y)));
    y = bottomOf(found);
    return found;
  });
  const boxed = items.map(({ panel, scope, gridPos }) => ({ panel, scope, box: box(gridPos, column) }));
  return { items: boxed, height: y * (ROW + GAP) };
}

/** The events that Grafana shows on the panel with this id. */
export const eventsOn = (events, id) =>
  events.filter(({ filter }) => !filter || filter.ids.includes(id) !== Boolean(filter.exclude));
