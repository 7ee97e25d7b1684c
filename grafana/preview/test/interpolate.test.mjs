import assert from "node:assert/strict";
import { test } from "node:test";
import { interpolate, promql, unresolved } from "../src/interpolate.js";

const several = { name: "app", value: ["a.b", "c"], multi: true, includeAll: true, text: ["a.b", "c"] };
const one = { ...several, value: ["c"], text: ["c"] };
const all = { ...several, all: true, allValue: ".*", text: "All" };
const scope = { app: several, window: { name: "window", value: "15s", text: "15s" } };

test("a choice of several is one regular expression, doubly escaped for PromQL", () => {
  assert.equal(interpolate('x{app=~"$app"}', scope, promql), 'x{app=~"(a\\\\.b|c)"}');
  assert.equal(interpolate('x{app=~"$app"}', { app: one }, promql), 'x{app=~"c"}');
});

test("All is its own expression, where there is one, in every format", () => {
  assert.equal(interpolate("${app} ${app:regex} [[app]]", { app: all }, promql), ".* .* .*");
});

test("a format that is named goes before that of the query", () => {
  assert.equal(interpolate("${app:csv} ${app:pipe} ${app:text}", scope, promql), "a.b,c a.b|c a.b + c");
  assert.equal(interpolate("?${app:queryparam}", scope), "?var-app=a.b&var-app=c");
  assert.throws(() => interpolate("${app:lucene}", scope), /format lucene/);
});

test("what is no variable stays, and is told", () => {
  assert.equal(interpolate("$1 $other ${window}", scope), "$1 $other 15s");
  assert.deepEqual(unresolved("$1 $other ${window}", scope), ["other"]);
});
