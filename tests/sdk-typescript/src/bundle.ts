// Bundles the workflows once, for all tests.

import * as fs from "node:fs";

import { bundleWorkflowCode } from "@temporalio/worker";

import { BUNDLE } from "./harness";

async function main(): Promise<void> {
  const { code } = await bundleWorkflowCode({ workflowsPath: require.resolve("./workflows") });
  fs.writeFileSync(BUNDLE, code);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
