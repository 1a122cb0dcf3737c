// Activities: retries, timeouts, heartbeats, cancellation.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { WorkflowFailedError } from "@temporalio/client";
import { ActivityFailure, ApplicationFailure, RetryState, TimeoutFailure } from "@temporalio/common";

import { starts, tokens } from "./activities";
import { eventually, Harness } from "./harness";
import * as workflows from "./workflows";

const harness = Harness.forFile();

/** The failure of the activity that made a workflow fail. */
async function activityFailure(result: Promise<unknown>): Promise<ActivityFailure> {
  const error = await result.then(
    () => assert.fail("the workflow succeeded"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof WorkflowFailedError, String(error));
  assert.ok(error.cause instanceof ActivityFailure, String(error.cause));
  return error.cause;
}

test("an activity is tried until it succeeds", async () => {
  const key = randomUUID();
  assert.equal(await harness.run(workflows.retried, { args: [key, 3] }), 3);
  assert.equal(starts.get(key), 3);
});

test("attempts are counted, and the last failure is the one that is told", async () => {
  const key = randomUUID();
  const failure = await activityFailure(harness.run(workflows.attemptsUsedUp, { args: [key] }));
  assert.equal(starts.get(key), 3);
  assert.equal(failure.retryState, RetryState.MAXIMUM_ATTEMPTS_REACHED);
  assert.equal(failure.cause?.message, "attempt 3 fails");
});

test("a failure is not retried by its type or its flag, and keeps its details", async () => {
  for (const [type, flag] of [["Fatal", false], ["Other", true]] as const) {
    const key = randomUUID();
    const failure = await activityFailure(harness.run(workflows.notRetried, { args: [key, type, flag] }));
    assert.equal(starts.get(key), 1);
    assert.equal(failure.retryState, RetryState.NON_RETRYABLE_FAILURE);
    assert.ok(failure.cause instanceof ApplicationFailure);
    assert.equal(failure.cause.type, type);
    assert.deepEqual(failure.cause.details, ["a", 1]);
  }
});

test("a failure says itself when the next attempt is", async () => {
  const handle = await harness.start(workflows.delayed, { args: [700] });
  const second = await handle.result();
  const { events } = await handle.fetchHistory();
  const scheduled = events!.find((event) => event.activityTaskScheduledEventAttributes)!.eventTime!;
  const first = Number(scheduled.seconds) * 1000 + scheduled.nanos! / 1e6;
  assert.ok(second - first >= 700, `${second - first} ms`);
  assert.ok(second - first < 5000, `${second - first} ms`);
});

test("a silent activity is tried again from its last heartbeat", async () => {
  const result = await harness.run(workflows.resumedCount, { args: [10] });
  assert.deepEqual(result, { from: 5, attempt: 2 });
});

for (const [kind, name] of [
  ["startToClose", "START_TO_CLOSE"],
  ["scheduleToStart", "SCHEDULE_TO_START"],
  ["scheduleToClose", "SCHEDULE_TO_CLOSE"],
] as const) {
  test(`${name} ends an activity`, async () => {
    const failure = await activityFailure(harness.run(workflows.timesOut, { args: [kind] }));
    assert.ok(failure.cause instanceof TimeoutFailure, String(failure.cause));
    assert.equal(failure.cause.timeoutType, name);
  });
}

test("an activity hears with its heartbeat that it is cancelled", async () => {
  const key = randomUUID();
  assert.equal(await harness.run(workflows.cancelsActivity, { args: [key] }), "cancelled");
  assert.equal(starts.get(`${key}/cancelled`), 1);
});

test("an activity can be completed from elsewhere", async () => {
  const key = randomUUID();
  const handle = await harness.start(workflows.elsewhere, { args: [key] });
  await eventually("the activity starts", () => tokens.has(key));
  await harness.client.activity.complete(tokens.get(key)!, "from afar");
  assert.equal(await handle.result(), "from afar");
});

test("a pending activity shows its attempt and why the last one failed", async () => {
  const key = randomUUID();
  const handle = await harness.start(workflows.retried, { args: [key, 99] });
  await eventually("two attempts", () => (starts.get(key) ?? 0) >= 2);
  const { raw } = await handle.describe();
  const [pending] = raw.pendingActivities!;
  assert.ok(pending!.attempt! >= 2);
  assert.match(pending!.lastFailure!.message!, /^attempt \d+ fails$/);
  await handle.terminate();
});

test("a local activity is done in the workflow's worker", async () => {
  const handle = await harness.start(workflows.local, { args: ["you"] });
  assert.equal(await handle.result(), "Hello, you!");
  const { events } = await handle.fetchHistory();
  assert.equal(events!.filter((event) => event.markerRecordedEventAttributes).length, 1);
  assert.equal(events!.filter((event) => event.activityTaskScheduledEventAttributes).length, 0);
});
