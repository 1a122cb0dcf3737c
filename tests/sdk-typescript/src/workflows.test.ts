// Workflows: messages, children, runs that follow each other, what is known of them.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import {
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateStage,
} from "@temporalio/client";
import { CancelledFailure, defineSearchAttributeKey, SearchAttributeType, TerminatedFailure } from "@temporalio/common";
import { Worker } from "@temporalio/worker";

import { BUNDLE, eventually, Harness } from "./harness";
import * as workflows from "./workflows";

const harness = Harness.forFile();

test("signals, queries and updates reach a workflow", async () => {
  const handle = await harness.start(workflows.adder);
  await handle.signal(workflows.add, 1);
  assert.equal(await handle.query(workflows.sum), 1);
  assert.equal(await handle.executeUpdate(workflows.addAndTell, { args: [2] }), 3);
  await handle.signal(workflows.finish);
  assert.equal(await handle.result(), 3);
  assert.equal(await handle.query(workflows.sum), 3, "a closed workflow answers, too");
});

test("a query that fails or is unknown says so", async () => {
  const handle = await harness.start(workflows.adder);
  await assert.rejects(handle.query(workflows.refuses), /I will not tell/);
  await assert.rejects(handle.query("no such query"), QueryNotRegisteredError);
  await handle.terminate();
});

test("an update that is refused leaves no trace, and one with a known id is not done twice", async () => {
  const handle = await harness.start(workflows.adder);
  await assert.rejects(handle.executeUpdate(workflows.addAndTell, { args: [-1] }), WorkflowUpdateFailedError);
  const updateId = randomUUID();
  const update = await handle.startUpdate(workflows.addAndTell, {
    args: [5],
    updateId,
    waitForStage: WorkflowUpdateStage.ACCEPTED,
  });
  assert.equal(await update.result(), 5);
  assert.equal(await handle.executeUpdate(workflows.addAndTell, { args: [5], updateId }), 5);
  const { events } = await handle.fetchHistory();
  const accepted = events!.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  assert.equal(accepted.length, 1);
  await handle.terminate();
});

test("an update starts its workflow if there is none", async () => {
  const operation = () =>
    new WithStartWorkflowOperation(workflows.adder, {
      workflowId,
      taskQueue: harness.taskQueue,
      workflowIdConflictPolicy: "USE_EXISTING",
    });
  const workflowId = randomUUID();
  for (const total of [4, 8]) {
    const startWorkflowOperation = operation();
    const options = { args: [4] as [number], startWorkflowOperation };
    assert.equal(await harness.client.workflow.executeUpdateWithStart(workflows.addAndTell, options), total);
  }
  await harness.client.workflow.getHandle(workflowId).terminate();
});

test("a signal starts its workflow if there is none", async () => {
  const handle = await harness.client.workflow.signalWithStart(workflows.adder, {
    workflowId: randomUUID(),
    taskQueue: harness.taskQueue,
    signal: workflows.add,
    signalArgs: [9],
  });
  await handle.signal(workflows.finish);
  assert.equal(await handle.result(), 9);
});

test("an id is taken while its workflow runs, and is free afterwards unless that is refused", async () => {
  const handle = await harness.start(workflows.adder);
  const { workflowId } = handle;
  await assert.rejects(harness.start(workflows.adder, { workflowId }), WorkflowExecutionAlreadyStartedError);
  await handle.signal(workflows.finish);
  await handle.result();
  await assert.rejects(
    harness.start(workflows.adder, { workflowId, workflowIdReusePolicy: "REJECT_DUPLICATE" }),
    WorkflowExecutionAlreadyStartedError,
  );
  const again = await harness.start(workflows.adder, { workflowId });
  await again.terminate();
});

test("cancellation and termination are told apart", async () => {
  const cancelled = await harness.start(workflows.waitsForCancel);
  await cancelled.cancel();
  const error = await cancelled.result().catch((error: unknown) => error);
  assert.ok(error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure, String(error));

  const terminated = await harness.start(workflows.waitsForCancel);
  await terminated.terminate("enough");
  const ended = await terminated.result().catch((error: unknown) => error);
  assert.ok(ended instanceof WorkflowFailedError && ended.cause instanceof TerminatedFailure, String(ended));
  await assert.rejects(terminated.signal(workflows.add, 1), WorkflowNotFoundError);
});

test("children give their results and failures to their parent", async () => {
  assert.equal(await harness.run(workflows.parent, { args: ["child"] }), "true Hello, child!");
  assert.match(await harness.run(workflows.failingChild), /ChildWorkflowFailure: .*run 2 fails/);
});

for (const [policy, status] of [
  ["TERMINATE", "TERMINATED"],
  ["REQUEST_CANCEL", "CANCELLED"],
  ["ABANDON", "RUNNING"],
] as const) {
  test(`a child whose parent closes with ${policy} is ${status}`, async () => {
    const handle = await harness.start(workflows.leavesChild, { args: [policy] });
    await handle.result();
    const child = harness.client.workflow.getHandle(`${handle.workflowId}/child`);
    await eventually(`the child is ${status}`, async () => (await child.describe()).status.name === status);
    if (status === "RUNNING") await child.terminate();
  });
}

test("runs follow each other: continued as new, and retried", async () => {
  assert.notEqual(await harness.run(workflows.countsDown, { args: [3] }), "first");
  const retry = { initialInterval: 50, backoffCoefficient: 1, maximumAttempts: 5 };
  assert.equal(await harness.run(workflows.failsUntil, { args: [3], retry }), 3);
});

test("a reset run goes on from its past", async () => {
  const handle = await harness.start(workflows.adder);
  await handle.signal(workflows.add, 3);
  assert.equal(await handle.executeUpdate(workflows.addAndTell, { args: [4] }), 7);
  const { runId } = await harness.client.workflowService.resetWorkflowExecution({
    namespace: "default",
    workflowExecution: { workflowId: handle.workflowId },
    reason: "try again",
    requestId: randomUUID(),
    workflowTaskFinishEventId: 4 as unknown as import("long"),
  });
  const again = harness.client.workflow.getHandle(handle.workflowId, runId);
  await eventually("signal and update are applied again", async () => (await again.query(workflows.sum)) === 7);
  await again.signal(workflows.finish);
  assert.equal(await again.result(), 7);
});

test("memo and search attributes are found", async () => {
  await harness.client.connection.operatorService.addSearchAttributes({
    namespace: "default",
    searchAttributes: { TsKeyword: 2, TsInt: 3 },
  });
  const keyword = defineSearchAttributeKey("TsKeyword", SearchAttributeType.KEYWORD);
  const handle = await harness.start(workflows.describesItself, {
    memo: { note: "first" },
    typedSearchAttributes: [{ key: keyword, value: "before" }],
  });
  await eventually("the workflow changes", async () => {
    const { memo } = await handle.describe();
    return memo?.["note"] === "changed";
  });
  const query = `TsKeyword = 'after' AND TsInt > 6 AND WorkflowId = '${handle.workflowId}'`;
  const found = [];
  for await (const info of harness.client.workflow.list({ query })) found.push(info.workflowId);
  assert.deepEqual(found, [handle.workflowId]);
  assert.equal((await harness.client.workflow.count(query)).count, 1);
  await handle.terminate();
});

test("recorded histories replay", async () => {
  const handle = await harness.start(workflows.patchable);
  assert.equal(await handle.result(), "new");
  const history = await handle.fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: { codePath: BUNDLE } }, history, handle.workflowId);
});
