// The workflows of this suite.

import {
  ActivityCancellationType,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  patched,
  proxyActivities,
  proxyLocalActivities,
  type RetryPolicy,
  setHandler,
  sleep,
  startChild,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
  ApplicationFailure,
} from "@temporalio/workflow";

import type * as activities from "./activities";

const quick: RetryPolicy = { initialInterval: 50, backoffCoefficient: 1 };
const { greet, succeedAt, askForDelay, completedElsewhere } = proxyActivities<typeof activities>({
  startToCloseTimeout: "20s",
  retry: quick,
});

export async function hello(name: string): Promise<string> {
  return await greet(name);
}

export async function retried(key: string, attempt: number): Promise<number> {
  return await succeedAt(key, attempt);
}

export async function attemptsUsedUp(key: string): Promise<void> {
  const { succeedAt } = proxyActivities<typeof activities>({
    startToCloseTimeout: "20s",
    retry: { ...quick, maximumAttempts: 3 },
  });
  await succeedAt(key, 99);
}

export async function notRetried(key: string, type: string, flag: boolean): Promise<void> {
  const { failAs } = proxyActivities<typeof activities>({
    startToCloseTimeout: "20s",
    retry: { ...quick, nonRetryableErrorTypes: ["Fatal"] },
  });
  await failAs(key, type, flag);
}

export async function delayed(delay: number): Promise<number> {
  return await askForDelay(delay);
}

export async function resumedCount(end: number): Promise<{ from: number; attempt: number }> {
  const { countTo } = proxyActivities<typeof activities>({
    startToCloseTimeout: "20s",
    heartbeatTimeout: "600ms",
    retry: quick,
  });
  return await countTo(end);
}

export async function timesOut(kind: "startToClose" | "scheduleToStart" | "scheduleToClose"): Promise<void> {
  const once = { maximumAttempts: 1 };
  const options = {
    startToClose: { startToCloseTimeout: "200ms", retry: once },
    scheduleToStart: {
      startToCloseTimeout: "20s",
      scheduleToStartTimeout: "200ms",
      taskQueue: "nobody-polls-this",
      retry: once,
    },
    scheduleToClose: { scheduleToCloseTimeout: "200ms", retry: quick },
  } as const;
  await proxyActivities<typeof activities>(options[kind]).hang(5000);
}

export async function cancelsActivity(key: string): Promise<string> {
  const { untilCancelled } = proxyActivities<typeof activities>({
    startToCloseTimeout: "20s",
    heartbeatTimeout: "2s",
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  try {
    await CancellationScope.cancellable(async () => {
      const running = untilCancelled(key);
      await sleep(300);
      CancellationScope.current().cancel();
      await running;
    });
    return "not cancelled";
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return "cancelled";
  }
}

export async function waitsForCancel(): Promise<string> {
  await condition(() => false);
  return "unreachable";
}

export const add = defineSignal<[number]>("add");
export const sum = defineQuery<number>("sum");
export const refuses = defineQuery<number>("refuses");
export const addAndTell = defineUpdate<number, [number]>("addAndTell");
export const finish = defineSignal("finish");

/** Adds up what it is told by signals and updates. */
export async function adder(): Promise<number> {
  let total = 0;
  let done = false;
  setHandler(add, (value) => void (total += value));
  setHandler(sum, () => total);
  setHandler(refuses, () => {
    throw new Error("I will not tell");
  });
  setHandler(
    addAndTell,
    async (value) => {
      await sleep(10);
      total += value;
      return total;
    },
    {
      validator: (value) => {
        if (value < 0) throw new Error("only up");
      },
    },
  );
  setHandler(finish, () => void (done = true));
  await condition(() => done);
  return total;
}

export async function parent(name: string): Promise<string> {
  const child = await startChild(hello, { args: [name], workflowId: `${workflowInfo().workflowId}/child` });
  return `${child.firstExecutionRunId.length > 0} ${await child.result()}`;
}

export async function failingChild(): Promise<string> {
  try {
    await executeChild(failsUntil, { args: [99], retry: { ...quick, maximumAttempts: 2 } });
    return "no failure";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).cause}`;
  }
}

export async function leavesChild(policy: ParentClosePolicy): Promise<void> {
  await startChild(waitsForCancel, {
    workflowId: `${workflowInfo().workflowId}/child`,
    parentClosePolicy: policy,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
  });
}

/** Fails until its run's attempt number is reached. */
export async function failsUntil(attempt: number): Promise<number> {
  const info = workflowInfo();
  if (info.attempt < attempt) throw ApplicationFailure.create({ message: `run ${info.attempt} fails` });
  return info.attempt;
}

export async function countsDown(from: number): Promise<string> {
  if (from > 0) await continueAsNew<typeof countsDown>(from - 1);
  return workflowInfo().continuedFromExecutionRunId ?? "first";
}

export async function local(name: string): Promise<string> {
  const { greet } = proxyLocalActivities<typeof activities>({ startToCloseTimeout: "5s" });
  return await greet(name);
}

export async function patchable(): Promise<string> {
  const way = patched("new-way") ? "new" : "old";
  await sleep(10);
  return way;
}

export async function describesItself(): Promise<void> {
  upsertMemo({ note: "changed" });
  upsertSearchAttributes({ TsKeyword: ["after"], TsInt: [7] });
  await condition(() => false);
}

export async function elsewhere(key: string): Promise<string> {
  return await completedElsewhere(key);
}

/** One step of load: an activity that fails once, a timer, another activity. */
export async function load(key: string): Promise<string> {
  const attempt = await succeedAt(key, 2);
  await sleep(100);
  return `${attempt} ${await greet(key)}`;
}
