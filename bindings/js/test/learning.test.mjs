/** What a page learns, keeps by itself, and tells. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { EdgeretError, load } from "../node.js";

const ROOT = fileURLToPath(new URL("../../../conformance/", import.meta.url));
const QUERY = "zebra 😀", CALLS = ["play_music", "phone_call"];
const door = { name: "lock_door", description: "lock the door of the house" };

function probability(task, tool) {
  task.next();
  return task.candidates(100).find((one) => one.tool === tool).probability;
}

function teach(learner, query, options) {
  const task = learner.task(query);
  for (const tool of CALLS) task.call(tool);
  const report = task.learn(options);
  task.end();
  return report;
}

test("what is learned decides, is kept as bytes, goes on from them, and is forgotten", async () => {
  const model = await load(`${ROOT}few`), learner = model.learner(), alone = model.task(QUERY);
  assert.deepEqual(learner.report(), { stored: 0, used: true, gain: 0, bytes: 0 });
  assert.equal(model.learner(learner.bytes()).report().stored, 0);
  const before = probability(alone, "play_music");
  for (const query of ["Mail 😀", "my NOTE  😀", "open a meeting", "close it"]) teach(learner, query);
  assert.equal(teach(learner, QUERY, { source: "corrected" }).stored, 5);
  const after = probability(learner.task(QUERY), "play_music");
  assert.ok(after > before + 0.1, `${before} → ${after}`);
  assert.equal(probability(alone, "play_music"), before);
  const plan = learner.plans().find((one) => one.query === QUERY);
  assert.deepEqual([plan.calls, plan.source], [CALLS, "corrected"]);
  assert.ok(Math.abs(plan.learnedAt - Date.now()) < 86_400_000);

  const kept = learner.bytes(), again = model.learner(kept), other = model.learner(kept.buffer);
  assert.equal(probability(again.task(QUERY), "play_music"), after);
  assert.notDeepEqual(learner.bytes(), kept, "a salt of its own");
  const tried = learner.copy();
  assert.equal(tried.forget({ everything: true }), 5);
  assert.equal(learner.report().stored, 5);
  assert.equal(again.forget({ query: "MY   note 😀" }), 1);
  assert.equal(again.forget({ id: plan.id }), 1);
  assert.equal(again.forget({ id: plan.id }), 0);
  assert.equal(again.forget({ tool: "phone_call" }), 3);
  assert.deepEqual(again.plans(), []);
  teach(other, QUERY, { words: false });
  assert.ok(other.plans().some((one) => one.query === null));
  assert.ok(model.search(QUERY, { learner }).length);
  const running = learner.task(QUERY);
  for (const one of [learner, again, other, tried, model]) (one.close ?? one.free).call(one);
  assert.ok(running.next().probability > 0); // it keeps what it needs
  running.end();
  assert.throws(() => learner.report(), /was closed/);
});

test("what was learned stays with tools that come and go", async () => {
  const model = await load(`${ROOT}few`), learner = model.learner(), grown = model.withTools({ add: [door] });
  const before = probability(grown.task("shut it all"), "lock_door"), task = grown.task("shut it all", { learner });
  task.call("lock_door");
  task.learn();
  const next = grown.task("shut it all", { learner });
  assert.ok(probability(next, "lock_door") > before + 0.05);
  assert.ok(next.next().restsOn.includes("learned"));
  assert.ok(model.learner(learner.bytes()).plans()[0].calls.includes("lock_door"));
});

test("why is told in numbers and words", async () => {
  const model = await load(`${ROOT}few`), learner = model.learner();
  teach(learner, QUERY);
  const task = learner.task("find my file, then send a mail and a zebra");
  assert.throws(() => task.explain(), /ask er_next first/);
  const next = task.next(), why = task.explain();
  assert.equal(why.compared.length, 3);
  assert.equal(why.compared[0], next.best);
  const words = why.votes.find((vote) => vote.part === "words");
  assert.equal(words.within, "prior");
  for (const vote of why.votes) assert.ok(vote.shares.every((share) => share === null || (share >= 0 && share <= 1.001)), vote.part);
  assert.ok(why.words.some((one) => one.word === "file" && one.in.includes("find_file")));
  assert.ok(why.words.some((one) => one.word === "zebra" && one.unknown));
  assert.ok(why.near.some((one) => one.learned && one.query === QUERY) || why.near.length > 0);
  assert.ok(why.cluster.length && why.similarity <= 1.001);
  assert.deepEqual(task.explain([null]).compared, [null]);
  assert.throws(() => task.explain([]), /name 1 to 3/);
  assert.throws(() => task.explain(["nobody"]), /unknown tool/);
  assert.throws(() => task.explain("find_file"), /expected an array/);
  assert.equal(next.tool, "find_file");
  task.call("find_file");
  task.next();
  assert.ok(task.leftAside().some((words) => words.includes("mail")));
  const set = task.conformal(0.95);
  assert.ok(set.length >= 1 && set.length <= 11);
  assert.throws(() => task.conformal(1), /between 0 and 1/);
});

test("a later turn looks back to the calls of earlier ones", async () => {
  const model = await load(`${ROOT}few`);
  const alone = model.task("and mail it").next(), later = (earlier) => model.task("and mail it", { earlier }).next();
  assert.notDeepEqual(later([["find_file"]]), alone);
  assert.deepEqual(later([["find_file"], []]), later([["find_file"]]));
  assert.ok(later([["find_file"]]).restsOn.includes("turns"));
  assert.ok(later([]).restsOn.includes("turns"));
  assert.throws(() => later("find_file"), /earlier: expected an array/);
  assert.throws(() => later(["find_file"]), /earlier: expected an array/);
  assert.throws(() => later([[5]]), /expected text/);
});

test("bytes that are none of a learner, and other mistakes, are refused in words", async () => {
  const model = await load(`${ROOT}few`), other = await load(`${ROOT}many`), learner = model.learner();
  const code = (call) => {
    try {
      call();
    } catch (error) {
      assert.ok(error instanceof EdgeretError, error);
      return error.code;
    }
    return assert.fail("not refused");
  };
  teach(learner, QUERY);
  const kept = learner.bytes(), damaged = kept.slice();
  damaged[damaged.length >> 2] ^= 1; // what is torn at the end is left out, as of a file
  assert.equal(code(() => model.learner(new Uint8Array(500))), "overlay");
  assert.equal(code(() => model.learner(damaged)), "overlay");
  assert.throws(() => model.learner("bytes"), /expected the bytes of a learner, found string/);
  assert.throws(() => model.task(QUERY, { learner: {} }), /what model.learner\(\) gives/);
  assert.throws(() => model.task(QUERY).learn(), /without a learner/);
  assert.throws(() => learner.task("and it", { earlier: [] }).learn(), /later turn/);
  assert.throws(() => learner.task(QUERY).learn({ source: "me" }), /no source "me"/);
  for (const odd of [{}, { tool: "a", query: "b" }, { everything: false }]) assert.throws(() => learner.forget(odd), /say what to forget/);
  assert.throws(() => learner.forget({ query: "" }), /say what to forget/);
  assert.throws(() => learner.forget({ id: 0.5 }), /whole number/);
  assert.throws(() => learner.forget(), EdgeretError);
  other.free();
});

test("a thousand learners leave no memory behind", async () => {
  const model = await load(`${ROOT}few`), learner = model.learner();
  teach(learner, QUERY);
  const kept = learner.bytes();
  const once = () => {
    const one = model.learner(kept), task = one.task(QUERY);
    task.next();
    task.explain();
    one.plans();
    one.bytes();
    task.end();
    one.close();
  };
  for (let i = 0; i < 50; i++) once();
  const bytes = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1000; i++) once();
  assert.ok(process.memoryUsage().arrayBuffers <= bytes + (1 << 20));
});
