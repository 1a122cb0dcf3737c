// The worker in the README, as it stands there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import { Server } from "./server";

/** The files in the README's TypeScript blocks, which name themselves in their first lines. */
function files(): Map<string, string> {
  const readme = fs.readFileSync(path.join(__dirname, "../../../README.md"), "utf8");
  const blocks = readme.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs);
  return new Map(Array.from(blocks, ([, name, text]) => [name!, text!]));
}

test("the README's worker runs", async () => {
  const server = await Server.start();
  try {
    const folder = path.join(__dirname, "readme");
    fs.mkdirSync(folder, { recursive: true });
    for (const [name, text] of files()) {
      fs.writeFileSync(path.join(folder, name), text.replace("127.0.0.1:7233", server.address));
    }
    const tsc = path.join(__dirname, "../node_modules/.bin/tsc");
    const options = "--ignoreConfig --module commonjs --moduleResolution bundler --esModuleInterop";
    const checks = "--target es2022 --skipLibCheck --strict --types node";
    const args = [...options.split(" "), ...checks.split(" "), "worker.ts"];
    execFileSync(tsc, args, { cwd: folder, stdio: "inherit" });
    const out = execFileSync(process.execPath, ["worker.js"], { cwd: folder, encoding: "utf8" });
    assert.match(out, /^order 18 is paid$/m);
  } finally {
    await server.stop();
  }
});
