/** What core/test/conformance.c does, by the page's library: node tests/core_run.mjs BUNDLE [tiny] < requests */

import { createInterface } from "node:readline";

import { load } from "../bindings/js/node.js";

const [folder, profile = "default"] = process.argv.slice(2);
const model = await load(folder, { profile });
const pair = ({ tool, probability, share }) => [tool ?? "<end>", probability ?? share];
console.log(JSON.stringify({ contentHash: model.contentHash, tools: model.tools }));
let decides = model, learner = null;

function decision(task) {
  const { tool, abstained, confirm, probability } = task.next();
  return { tool, abstained, confirm, probability, candidates: task.candidates(decides.tools.length + 1).map(pair) };
}

const KINDS = {
  "!turn"([last, query, ...calls]) {
    const at = calls.length - Number(last), task = decides.task(query, { earlier: [calls.slice(0, at), calls.slice(at)] });
    return decision(task);
  },
  "!learn"([query, ...calls]) {
    learner ??= decides.learner();
    const task = learner.task(query);
    for (const tool of calls) task.call(tool);
    return { stored: task.learn().stored };
  },
  "!change"(lines) {
    const of = (sign) => lines.filter((line) => line[0] === sign).map((line) => line.slice(1));
    decides = decides.withTools({ add: of("+"), remove: of("-") });
    learner = null;
    return { changed: lines.length };
  },
  "!call"([tool, query, clock, ...before]) {
    const task = decides.task(query), [year, month, ...rest] = clock.split(" ").map(Number);
    const json = (text) => (text ? JSON.parse(text) : undefined);
    for (let i = 0; i + 2 < before.length; i += 3) task.call(before[i], json(before[i + 1]), json(before[i + 2]));
    const found = task.arguments(tool, clock ? { now: new Date(year, month - 1, ...rest.slice(0, 4)) } : {});
    const points = (n) => [...query.slice(0, n)].length;
    return {
      given: Object.entries(found.given).map(([name, { value, source, span, confidence, alternatives }]) => [
        name, value, source, ...(span ?? [0, 0]).map(points), confidence, alternatives,
      ]),
      missing: Object.entries(found.missing),
    };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [query, ...calls] = line.split("\t");
  if (Object.hasOwn(KINDS, query)) {
    console.log(JSON.stringify(KINDS[query](calls)));
    continue;
  }
  const task = (learner ?? decides).task(query);
  for (const tool of calls) task.call(tool);
  const found = decision(task);
  if (!calls.length) found.search = decides.search(query, { k: decides.tools.length, strategy: "hybrid" }).map(pair);
  console.log(JSON.stringify(found));
  task.end();
}
