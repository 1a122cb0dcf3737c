// A server process of our own: started on a free port, killed, started again on the same data.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import * as readline from "node:readline";

export class Server {
  private process?: ChildProcess;

  private constructor(
    private readonly folder: string,
    readonly address: string,
  ) {}

  static async start(): Promise<Server> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "steadfast-typescript-"));
    const server = new Server(folder, `127.0.0.1:${await freePort()}`);
    await server.open();
    return server;
  }

  /** Pulls the plug, and starts again on what is on disk. */
  async killAndRestart(): Promise<void> {
    await this.end("SIGKILL");
    await this.open();
  }

  async stop(): Promise<void> {
    await this.end("SIGTERM");
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  private async open(): Promise<void> {
    const binary = process.env["STEADFAST_BIN"];
    if (!binary) throw new Error("STEADFAST_BIN must name the steadfast binary");
    const db = path.join(this.folder, "steadfast.db");
    const args = ["serve", "--db", db, "--grpc", this.address];
    const child = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"], env: this.env() });
    this.process = child;
    for await (const line of readline.createInterface({ input: child.stdout! })) {
      if (line.startsWith("press Ctrl-C")) return;
    }
    throw new Error(`${binary} ended before it served`);
  }

  /** Other doors stay shut, so that servers of several suites do not meet. */
  private env(): NodeJS.ProcessEnv {
    return { ...process.env, STEADFAST_HTTP: "127.0.0.1:0" };
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}

async function freePort(): Promise<number> {
  const socket = net.createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as net.AddressInfo;
  socket.close();
  await once(socket, "close");
  return port;
}
