/** What core/test/conformance.c does, by the page's library: node tests/core_run.mjs BUNDLE [tiny] < requests */

import { createInterface } from "node:readline";

import { load } from "../bindings/js/node.js";

const [folder, profile = "default"] = process.argv.slice(2);
const model = await load(folder, { profile });
const pair = ({ tool, probability, share }) => [tool ?? "<end>", probability ?? share];
console.log(JSON.stringify({ contentHash: model.contentHash, tools: model.tools }));
for await (const line of createInterface({ input: process.stdin })) {
  const [query, ...calls] = line.split("\t"), task = model.task(query);
  for (const tool of calls) task.call(tool);
  const { tool, abstained, confirm, probability } = task.next();
  const found = { tool, abstained, confirm, probability, candidates: task.candidates(model.tools.length + 1).map(pair) };
  if (!calls.length) found.search = model.search(query, { k: model.tools.length, strategy: "hybrid" }).map(pair);
  console.log(JSON.stringify(found));
  task.end();
}
