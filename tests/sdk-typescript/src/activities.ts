// What the workflows of this suite let be done.

import { activityInfo, ApplicationFailure, CompleteAsyncError, Context, heartbeat, sleep } from "@temporalio/activity";

/** How often each activity was started, by a key of the test's choice. */
export const starts = new Map<string, number>();

function started(key: string): number {
  const count = (starts.get(key) ?? 0) + 1;
  starts.set(key, count);
  return count;
}

export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}

/** Fails until its attempt number is reached. */
export async function succeedAt(key: string, attempt: number): Promise<number> {
  started(key);
  const info = activityInfo();
  if (info.attempt < attempt) throw new Error(`attempt ${info.attempt} fails`);
  return info.attempt;
}

export async function failAs(key: string, type: string, nonRetryable: boolean): Promise<void> {
  started(key);
  throw ApplicationFailure.create({ message: "it cannot be", type, nonRetryable, details: ["a", 1] });
}

/** Fails once and says itself how long to wait. */
export async function askForDelay(delay: number): Promise<number> {
  const info = activityInfo();
  if (info.attempt === 1) {
    throw ApplicationFailure.create({ message: "later", nextRetryDelay: delay });
  }
  return info.currentAttemptScheduledTimestampMs;
}

/** Counts to `end`, remembers how far it came, and hangs once in the middle. */
export async function countTo(end: number): Promise<{ from: number; attempt: number }> {
  const info = activityInfo();
  const from: number = info.heartbeatDetails ?? 0;
  for (let at = from; at < end; at += 1) {
    heartbeat(at + 1);
    if (info.attempt === 1 && at + 1 === Math.floor(end / 2)) {
      await Context.current().cancelled; // Silent until its worker stops: only the timeout can tell.
    }
  }
  return { from, attempt: info.attempt };
}

/** Runs until it hears that it is cancelled. */
export async function untilCancelled(key: string): Promise<void> {
  started(key);
  const beating = setInterval(() => heartbeat(), 50);
  try {
    await Context.current().cancelled;
  } finally {
    clearInterval(beating);
    starts.set(`${key}/cancelled`, 1);
  }
}

export async function hang(milliseconds: number): Promise<void> {
  await sleep(milliseconds);
}

/** Tokens of activities that are completed from elsewhere. */
export const tokens = new Map<string, Uint8Array>();

export async function completedElsewhere(key: string): Promise<string> {
  tokens.set(key, activityInfo().taskToken);
  throw new CompleteAsyncError();
}
