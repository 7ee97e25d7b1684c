import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_POINTS, aligned, allowed } from "../src/steps.js";

const at = (seconds) => ({ valueOf: () => seconds * 1000 });

test("a range begins and ends at a multiple of its step, before now", () => {
  assert.deepEqual(aligned({ from: at(1000), to: at(4601) }, 600), [600, 4200]);
});

test("a long range has a longer step: Prometheus refuses more points", () => {
  assert.equal(allowed(15, 3600), 15);
  for (const span of [15 * 11000, 7 * 86400, 30 * 86400]) {
    const step = allowed(15, span);
    const [start, end] = aligned({ from: at(1e9 + 7), to: at(1e9 + 7 + span) }, step);
    assert.ok((end - start) / step <= MOST_POINTS);
  }
});
