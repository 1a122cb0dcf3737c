// What every test file needs: a server, a client, a worker.

import { randomUUID } from "node:crypto";
import * as path from "node:path";
import { after, before } from "node:test";

import { Client, Connection, type WorkflowStartOptions } from "@temporalio/client";
import type { Workflow } from "@temporalio/common";
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from "@temporalio/worker";

import * as activities from "./activities";
import { Server } from "./server";

export const BUNDLE = path.join(__dirname, "workflows.bundle.js");

/** A server with a client and a worker, for the tests of one file. */
export class Harness {
  readonly taskQueue = `queue-${randomUUID()}`;
  server!: Server;
  client!: Client;
  private connection!: Connection;
  private native!: NativeConnection;
  private worker?: Worker;
  private running?: Promise<void>;

  /** For a test file: opened before its tests, closed after them. */
  static forFile(): Harness {
    const harness = new Harness();
    before(() => harness.open());
    after(() => harness.close());
    return harness;
  }

  async start<T extends Workflow>(
    workflow: T,
    options: Partial<WorkflowStartOptions<T>> & { args?: Parameters<T> } = {},
  ) {
    const all = { taskQueue: this.taskQueue, workflowId: randomUUID(), ...options };
    return await this.client.workflow.start(workflow, all as WorkflowStartOptions<T>);
  }

  async run<T extends Workflow>(
    workflow: T,
    options: Partial<WorkflowStartOptions<T>> & { args?: Parameters<T> } = {},
  ) {
    const handle = await this.start(workflow, options);
    return await handle.result();
  }

  async newWorker(options: Partial<WorkerOptions> = {}): Promise<Worker> {
    return await Worker.create({
      connection: this.native,
      taskQueue: this.taskQueue,
      workflowBundle: { codePath: BUNDLE },
      activities,
      ...options,
    });
  }

  private async open(): Promise<void> {
    // Failing activities are what is tested here; their stack traces are noise.
    Runtime.install({ logger: new DefaultLogger("ERROR") });
    this.server = await Server.start();
    this.connection = await Connection.connect({ address: this.server.address });
    this.client = new Client({ connection: this.connection });
    this.native = await NativeConnection.connect({ address: this.server.address });
    this.worker = await this.newWorker();
    this.running = this.worker.run();
  }

  private async close(): Promise<void> {
    this.worker?.shutdown();
    await this.running;
    await this.native.close();
    await this.connection.close();
    await this.server.stop();
  }
}

/** Waits for something to become true. */
export async function eventually(what: string, test: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
