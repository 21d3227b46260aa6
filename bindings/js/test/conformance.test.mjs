/** The page's library gives every number of `conformance/`, as every reader does. */

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { EdgeretError, Model, load } from "../node.js";

const ROOT = fileURLToPath(new URL("../../../conformance/", import.meta.url));
const kinds = (await readdir(ROOT)).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
const near = (a, b, what, most = 2e-6) => assert.ok(Math.abs(a - b) <= most, `${what}: ${a} and not ${b}`);

/** A decision and all its candidates are those that were wanted. */
function same(task, wanted, where, most) {
  const decision = task.next();
  assert.equal(decision.tool, wanted.tool, where);
  assert.equal(decision.abstained, wanted.abstained, where);
  assert.equal(decision.confirm, wanted.confirm, where);
  near(decision.probability, wanted.probability, where, most);
  const listed = new Map(task.candidates(100).map((one) => [one.tool ?? "<end>", one.probability]));
  assert.equal(listed.size, wanted.candidates.length, where);
  for (const [tool, probability] of wanted.candidates) near(listed.get(tool), probability, `${where}: ${tool}`, most);
  task.end();
}

/** Year to second, as a local time here. */
const clock = (parts) => (parts === null ? {} : { now: new Date(parts[0], parts[1] - 1, ...parts.slice(2, 6)) });

for (const kind of kinds) {
  test(`${kind}: later turns, what is learned, changed tools and what calls are given`, async () => {
    const wanted = JSON.parse(await readFile(`${ROOT}${kind}.json`, "utf-8")), model = await load(ROOT + kind);
    for (const turn of wanted.turns) same(model.task(turn.query, { earlier: turn.earlier }), turn, turn.query);
    const learner = model.learner();
    for (const [query, calls] of wanted.lessons) {
      const task = learner.task(query);
      for (const tool of calls) task.call(tool);
      task.learn();
      task.end();
    }
    for (const step of wanted.learned) same(learner.task(step.query), step, step.query, 1e-5);
    learner.close();
    const changed = model.withTools({ add: wanted.added, remove: wanted.removed });
    for (const step of wanted.changed) same(changed.task(step.query), step, step.query);
    for (const { tool, query, clock: parts, calls, given, missing } of wanted.arguments) {
      const task = changed.task(query), place = (n) => [...query].slice(0, n).join("").length;
      for (const [name, args, result] of calls) task.call(name, args, result ?? undefined);
      const found = task.arguments(tool, clock(parts));
      assert.deepEqual(Object.entries(found.missing), missing, query);
      assert.deepEqual(Object.keys(found.given), given.map(([name]) => name), query);
      for (const [name, value, source, begin, end, confidence, alternatives] of given) {
        const one = found.given[name];
        assert.deepEqual([one.value, one.source, one.alternatives], [value, source, alternatives], `${query}: ${name}`);
        assert.deepEqual(one.span, end ? [place(begin), place(end)] : null, `${query}: ${name}`);
        near(one.confidence, confidence, `${query}: ${name}`);
      }
      task.end();
    }
    changed.free();
    model.free();
  });

  test(`${kind}: what is forged is refused`, async () => {
    const wanted = JSON.parse(await readFile(`${ROOT}${kind}.json`, "utf-8")), files = new Map();
    for (const name of await readdir(ROOT + kind)) files.set(name, new Uint8Array(await readFile(`${ROOT}${kind}/${name}`)));
    (await Model.from(files)).free();
    for (const { why, edits } of wanted.refused) {
      const forged = new Map([...files].map(([name, bytes]) => [name, bytes.slice()]));
      for (const [name, at, digits] of edits) forged.get(name).set(digits.match(/../g).map((two) => Number.parseInt(two, 16)), at);
      await assert.rejects(Model.from(forged), (error) => error instanceof EdgeretError && ["bundle", "file"].includes(error.code), why);
    }
  });

  test(`${kind}: every decision and every search`, async () => {
    const wanted = JSON.parse(await readFile(`${ROOT}${kind}.json`, "utf-8"));
    const model = await load(ROOT + kind);
    assert.equal(model.contentHash, wanted.contentHash);
    assert.deepEqual([...model.tools], wanted.tools);
    for (const { query, search, steps } of wanted.requests) {
      const found = model.search(query, { k: search.length, strategy: "hybrid" });
      assert.deepEqual(found.map((hit) => hit.tool), search.map(([tool]) => tool), query);
      found.forEach((hit, i) => near(hit.share, search[i][1], query));
      for (const step of steps) {
        const task = model.task(query);
        for (const tool of step.history) task.call(tool);
        same(task, step, `${query} behind ${step.history}`);
      }
    }
    model.free();
  });
}

test("what is damaged, missing or no bundle is refused in words", async () => {
  const files = new Map();
  for (const name of await readdir(`${ROOT}few`)) files.set(name, new Uint8Array(await readFile(`${ROOT}few/${name}`)));
  await assert.rejects(Model.from(new Map()), (error) => error instanceof EdgeretError && /manifest/.test(error.message));
  const head = Uint8Array.from(files.get("head.msgpack"));
  head[head.length - 1] ^= 1;
  await assert.rejects(Model.from(new Map([...files, ["head.msgpack", head]])), /altered/);
  await assert.rejects(load(`${ROOT}nothing-here`), /cannot be read/);
  for (const odd of [undefined, 5, null]) await assert.rejects(load(odd), EdgeretError);
  for (const odd of [undefined, 5, null, "abc", [1]]) await assert.rejects(Model.from(odd), EdgeretError);
  await assert.rejects(load(`${ROOT}few`, { profil: "tiny" }), /no option "profil"/);
  await assert.rejects(load(ROOT), /manifest: cannot be read/);
});

test("arguments that do not fit are refused in words", async () => {
  const model = await load(`${ROOT}few`);
  assert.throws(() => model.task("  "), /empty/);
  assert.throws(() => model.task(5), /expected text, found number/);
  assert.throws(() => model.task("a", { tools: ["nobody"] }), /unknown tool "nobody"/);
  assert.throws(() => model.task("a", { tools: [] }), /allowed is empty/);
  assert.throws(() => model.task("a", { tools: "abc" }), /tools: expected an array/);
  assert.throws(() => model.task("a", { tool: [] }), /no option "tool"/);
  assert.throws(() => model.withTools({ remove: "send_mail" }), /remove: expected an array/);
  assert.throws(() => model.search("a", { k: -1 }), /k must be a whole number/);
  assert.throws(() => model.search("a", { strategy: "best" }), /choose one of auto, hybrid, description/);
  const task = model.task("find a file");
  assert.throws(() => task.next({ policy: "foo" }), /no policy "foo"/);
  assert.throws(() => task.candidates(), /ask er_next first/);
  assert.throws(() => task.failed("nobody"), /unknown tool/);
  assert.throws(() => task.undo(), /nothing to undo/);
  const fork = task.fork();
  task.call("find_file");
  assert.notDeepEqual(task.next(), fork.next());
  task.end();
  assert.throws(() => task.next(), /has ended/);
  model.free();
  assert.ok(fork.next().probability > 0); // what runs keeps what it needs
  fork.end();
  assert.throws(() => model.task("a"), /was freed/);
});

test("a hundred models and ten thousand tasks leave no memory behind", async () => {
  const model = await load(`${ROOT}few`);
  for (let i = 0; i < 10_000; i++) {
    const task = model.task("find my file and send a mail");
    task.next();
    task.end();
  }
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 5000; i++) model.task("find my file").end();
  assert.ok(process.memoryUsage().arrayBuffers <= before + (1 << 20));
  model.free();
});
