import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOn, layout } from "../src/layout.js";

const WIDTH = 24 * 40 + 23 * 8;
const panel = (title, x, y, w, h, more = {}) => ({ type: "stat", title, gridPos: { x, y, w, h }, ...more });
const row = (title, y, more = {}) => panel(title, 0, y, 24, 1, { type: "row", panels: [], ...more });
const scope = { app: { name: "app", value: ["a", "b"], text: "All", all: true } };
const told = ({ items }) => items.map(({ panel: { title }, scope: { app }, box }) => [title, app?.value, box.top]);

test("a panel's box follows from its place on the grid", () => {
  const { items, height } = layout([panel("x", 12, 2, 12, 4)], WIDTH, { scope: {} });
  assert.deepEqual(items[0].box, { left: 576, top: 0, width: 568, height: 144 });
  assert.equal(height, 4 * 38);
});

test("a row that is repeated takes what stands below it along, and pushes the next one down", () => {
  const panels = [row("$app", 0, { repeat: "app" }), panel("x", 0, 1, 24, 2), row("end", 3)];
  assert.deepEqual(told(layout(panels, WIDTH, { scope })), [
    ["$app", "a", 0],
    ["x", "a", 38],
    ["$app", "b", 114],
    ["x", "b", 152],
    ["end", undefined, 228],
  ]);
});

test("a row that is saved collapsed is opened only when asked to", () => {
  const panels = [row("r", 0, { collapsed: true, panels: [panel("x", 0, 1, 24, 2)] }), panel("y", 0, 1, 24, 2)];
  assert.deepEqual(layout(panels, WIDTH, { scope: {} }).items.length, 2);
  const opened = told(layout([panels[0], row("end", 1)], WIDTH, { scope: {}, expand: true }));
  assert.deepEqual(opened.map(([title, , top]) => [title, top]), [["r", 0], ["x", 38], ["end", 114]]);
});

test("a panel that is repeated stands side by side, four a line at most", () => {
  const five = { app: { ...scope.app, value: ["a", "b", "c", "d", "e"] } };
  const { items, height } = layout([panel("x", 0, 0, 24, 2, { repeat: "app" })], WIDTH, { scope: five });
  assert.deepEqual(items.map(({ box }) => box.top), [0, 0, 0, 0, 76]);
  assert.equal(height, 4 * 38);
});

test("an annotation with a filter marks its panels only", () => {
  const events = [{ text: "all" }, { text: "two", filter: { ids: [2], exclude: false } }];
  const on = (id) => eventsOn(events, id).map(({ text }) => text);
  assert.deepEqual([on(1), on(2)], [["all"], ["all", "two"]]);
});
