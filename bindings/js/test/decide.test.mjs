/** edgeret-decide.wasm decides as edgeret.wasm does, and says what it lacks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { EdgeretError, load } from "../node.js";

const FEW = fileURLToPath(new URL("../../../conformance/few", import.meta.url));
const QUERIES = ["find the report and mail it to Ana", "play some jazz", "turn it off in ten minutes", "über den Wolken"];

test("the smaller library decides the same", async () => {
  const [small, whole] = await Promise.all([load(FEW, { library: "decide" }), load(FEW)]);
  for (const query of QUERIES) {
    const tasks = [small.task(query), whole.task(query)];
    for (let step = 0; step < 3; step++) {
      const [one, other] = tasks.map((task) => [task.next({ policy: "heads" }), task.candidates(5), task.leftAside()]);
      assert.deepEqual(one, other);
      if (one[0].tool === null) break;
      for (const task of tasks) task.call(one[0].tool);
    }
    for (const task of tasks) task.end();
  }
  small.free();
  whole.free();
});

test("what it lacks is told, with the file that has it", async () => {
  const model = await load(FEW, { library: "decide" }), task = model.task("find the report"), tool = model.tools[0];
  task.next();
  const calls = {
    search: () => model.search("report"), withTools: () => model.withTools({ remove: [tool] }), learner: () => model.learner(),
    explain: () => task.explain(), arguments: () => task.arguments(tool),
  };
  for (const [name, call] of Object.entries(calls))
    assert.throws(call, (error) => error instanceof EdgeretError && error.message.startsWith(`${name}: not in edgeret-decide.wasm; load`));
  await assert.rejects(load(FEW, { library: "half" }), /library: expected "decide"/);
  task.end();
  model.free();
});
