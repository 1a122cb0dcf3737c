// The plug is pulled on the server while workers are at work.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { starts } from "./activities";
import { Harness } from "./harness";
import * as workflows from "./workflows";

const harness = Harness.forFile();

test("workflows end with the right result though the server is killed under load", async () => {
  const keys = Array.from({ length: 100 }, () => randomUUID());
  const handles = [];
  for (const [index, key] of keys.entries()) {
    handles.push(await harness.start(workflows.load, { args: [key] }));
    if (index % 40 === 39) await harness.server.killAndRestart();
  }
  const results = await Promise.all(handles.map((handle) => handle.result()));
  for (const [index, key] of keys.entries()) {
    // An attempt that was handed out as the plug was pulled may never have reached the worker: it counts all the same.
    assert.match(results[index]!, new RegExp(`^([2-9]|\\d{2,}) Hello, ${key}!$`));
    assert.ok(starts.get(key)! >= 1);
  }
});
