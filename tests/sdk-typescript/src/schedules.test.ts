// Schedules.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";

import { eventually, Harness } from "./harness";
import * as workflows from "./workflows";

const harness = Harness.forFile();

async function create(options: { every?: string; paused?: boolean; limit?: number } = {}) {
  const scheduleId = randomUUID();
  return await harness.client.schedule.create({
    scheduleId,
    spec: { intervals: [{ every: (options.every ?? "1h") as "1h" }] },
    action: {
      type: "startWorkflow",
      workflowType: workflows.hello,
      args: ["schedule"],
      workflowId: `by-${scheduleId}`,
      taskQueue: harness.taskQueue,
    },
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL },
    state: {
      paused: options.paused ?? false,
      ...(options.limit === undefined ? {} : { remainingActions: options.limit }),
    },
  });
}

test("a schedule starts its workflow when the time has come, as often as it may", async () => {
  const schedule = await create({ every: "1s", limit: 2 });
  await eventually("both actions are taken", async () => {
    const { info } = await schedule.describe();
    return info.numActionsTaken === 2;
  });
  const { info } = await schedule.describe();
  assert.equal(info.recentActions.length, 2);
  for (const { action } of info.recentActions) {
    assert.equal(await harness.client.workflow.getHandle(action.workflow.workflowId).result(), "Hello, schedule!");
  }
  await schedule.delete();
});

test("a schedule is triggered, paused, changed and deleted", async () => {
  const schedule = await create();
  await schedule.trigger();
  const triggered = await schedule.describe();
  assert.equal(triggered.info.numActionsTaken, 1);

  await schedule.pause("not now");
  const paused = await schedule.describe();
  assert.equal(paused.state.paused, true);
  assert.equal(paused.state.note, "not now");
  await schedule.unpause();

  await schedule.update((previous) => ({ ...previous, spec: { intervals: [{ every: "2h" }] } }));
  const changed = await schedule.describe();
  assert.deepEqual(changed.spec.intervals?.map(({ every }) => every), [2 * 3600 * 1000]);

  await schedule.delete();
  await assert.rejects(schedule.describe(), ScheduleNotFoundError);
});

test("a schedule's id is taken while it is there", async () => {
  const schedule = await create({ paused: true });
  const again = harness.client.schedule.create({
    scheduleId: schedule.scheduleId,
    spec: {},
    action: { type: "startWorkflow", workflowType: workflows.hello, args: ["x"], taskQueue: harness.taskQueue },
  });
  await assert.rejects(again, ScheduleAlreadyRunning);
  await schedule.delete();
});

test("a backfill takes the actions of the past", async () => {
  const schedule = await create({ paused: true });
  const end = new Date();
  const start = new Date(end.getTime() - 3 * 3600 * 1000 + 60_000);
  await schedule.backfill({ start, end, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
  await eventually("the past is made up for", async () => (await schedule.describe()).info.numActionsTaken >= 2);
  await schedule.delete();
});

test("a schedule goes on after the plug was pulled", async () => {
  const schedule = await create({ every: "1s" });
  await harness.server.killAndRestart();
  await eventually("it acts", async () => (await schedule.describe()).info.numActionsTaken > 0);
  const found: string[] = [];
  for await (const summary of harness.client.schedule.list()) found.push(summary.scheduleId);
  assert.ok(found.includes(schedule.scheduleId));
  await schedule.delete();
});
