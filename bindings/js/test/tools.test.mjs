/** Tools that come and go in a page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { load } from "../node.js";

const ROOT = fileURLToPath(new URL("../../../conformance/", import.meta.url));
const door = { name: "lock_door", description: "lock the door of the house", examples: ["is it lockéd?"], confirm: true };

function decided(model, query, calls = []) {
  const task = model.task(query);
  for (const tool of calls) task.call(tool);
  const found = [task.next(), task.candidates(100)];
  task.end();
  return found;
}

test("a tool that comes is chosen, and one that goes never is", async () => {
  for (const kind of ["alone", "few"]) {
    const model = await load(ROOT + kind);
    const [, before] = decided(model, "please lock the door of my house");
    const grown = model.withTools({ add: [door] });
    assert.deepEqual([...grown.tools], [...model.tools, "lock_door"]);
    const [next, among] = decided(grown, "please lock the door of my house");
    assert.equal(among.filter((one) => one.tool)[0].tool, "lock_door", kind);
    assert.ok(next.tool !== "lock_door" || next.confirm);
    assert.deepEqual(decided(model, "please lock the door of my house")[1], before);
    const less = grown.withTools({ remove: ["lock_door", model.tools[0]] });
    model.free();
    grown.free();
    assert.deepEqual([...less.tools], model.tools.slice(1));
    const [, left] = decided(less, "find my file and send a mail", [model.tools[0]]);
    assert.equal(left.length, less.tools.length + 1);
    assert.equal(less.search("find a file", { k: 99 }).length, less.tools.length);
    assert.throws(() => less.task("a file", { tools: [model.tools[0]] }), /unknown tool/);
    less.free();
  }
});

// The bundle keeps vectors in bytes; those that come anew have all their digits.
test("added and removed again, decisions are as before", async () => {
  const model = await load(`${ROOT}few`);
  const away = model.withTools({ add: [door], remove: [model.tools.at(-1)], replace: [{ ...model.definition(model.tools[0]), description: "else" }] });
  const back = away.withTools({
    remove: ["lock_door"], add: [JSON.stringify(model.definition(model.tools.at(-1)))], replace: [model.definition(model.tools[0])],
  });
  away.free();
  assert.deepEqual([...back.tools], [...model.tools]);
  for (const query of ["find my file and send a mail", "write a note", "zebra"])
    for (const calls of [[], ["find_file"]]) {
      const [one, others] = decided(model, query, calls), [again, now] = decided(back, query, calls);
      assert.equal(again.tool, one.tool);
      const wanted = new Map(others.map((other) => [other.tool, other.probability]));
      for (const { tool, probability } of now) assert.ok(Math.abs(probability - wanted.get(tool)) < 0.01, `${query}: ${tool}`);
    }
  model.free();
  back.free();
});

test("a change that does not fit is refused in words", async () => {
  const model = await load(`${ROOT}few`);
  assert.throws(() => model.withTools({ remove: ["nobody"] }), /remove: unknown tool "nobody"/);
  assert.throws(() => model.withTools({ add: [{ ...door, risk: 9 }] }), /risk that does not lie between/);
  assert.throws(() => model.withTools({ add: ["{"] }), /add, item 1: not JSON/);
  assert.throws(() => model.withTools({ remove: [...model.tools] }), /no tool would be left/);
  assert.throws(() => model.withTools({ remove: [5] }), /expected text, found number/);
  const same = model.withTools({});
  model.free();
  decided(same, "a file");
  same.free();
  assert.throws(() => same.withTools({}), /was freed/);
});

test("a thousand changes leave no memory behind", async () => {
  const model = await load(`${ROOT}few`);
  const before = model.withTools({ add: [door] });
  for (let i = 0; i < 50; i++) model.withTools({ add: [door] }).free();
  const bytes = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1000; i++) model.withTools({ add: [door], remove: [model.tools[0]] }).free();
  assert.ok(process.memoryUsage().arrayBuffers <= bytes + (1 << 20));
  before.free();
  model.free();
});
