/** What a call is given, as pages read it: values, where from, and what to ask. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { EdgeretError, load } from "../node.js";

const ROOT = fileURLToPath(new URL("../../../conformance/", import.meta.url));
const text = { type: "string" };
const TOOLS = [
  { name: "book_table", description: "Book a table at a restaurant.", parameters: { type: "object", required: ["restaurant", "day", "guests"], properties: {
    restaurant: text, day: { type: "string", format: "date" }, guests: { type: "integer" }, seat: { enum: ["inside", "terrace"] } } } },
  { name: "mail_booking", description: "Mail a booking to somebody.", parameters: { type: "object", required: ["booking_id", "to"], properties: {
    booking_id: { type: "string", description: "as book_table gives it" }, to: { type: "string", format: "email" }, copy: { type: "boolean" } } } },
];

async function begun(query, use) {
  const model = await load(`${ROOT}few`), own = model.withTools({ add: TOOLS }), task = own.task(query);
  try {
    await use(task, own);
  } finally {
    task.end();
    own.free();
    model.free();
  }
}

test("values come with where from, their place and what else may be meant", () =>
  begun("😀 book a table for 4 guests at “Chez Anna” tomorrow, on the terrace", (task) => {
    const now = new Date(2026, 10, 27, 22, 15), { given, missing } = task.arguments("book_table", { now });
    assert.deepEqual(missing, {});
    assert.deepEqual(Object.keys(given), ["restaurant", "day", "guests", "seat"]);
    const { restaurant, day, guests, seat } = given;
    assert.deepEqual([restaurant.value, day.value, guests.value, seat.value], ["Chez Anna", "2026-11-28", 4, "terrace"]);
    assert.equal(task.query.slice(...day.span), "tomorrow"); // places are those of JavaScript's strings
    assert.equal(task.query.slice(...seat.span), "terrace");
    assert.deepEqual([seat.source, guests.source], ["choice", "rule"]);
    for (const one of Object.values(given)) assert.ok(one.confidence > 0 && one.confidence <= 1 && Array.isArray(one.alternatives));
    const without = task.arguments("book_table");
    assert.ok(!("day" in without.given) && without.missing.day.includes("tomorrow"));
    assert.deepEqual(task.arguments("book_table", { now, rulesAlone: true }), { given, missing });
  }));

test("calls before give what they gave, until they are taken back", () =>
  begun("book a table for 4 at “Chez Anna” and mail it to ana@example.com", (task) => {
    const values = (of) => Object.fromEntries(Object.entries(of.given).map(([name, one]) => [name, one.value]));
    assert.equal(task.arguments("mail_booking").given.to.span[0], task.query.indexOf("ana@"));
    task.call("book_table", { restaurant: "Chez Anna", guests: 4 });
    assert.deepEqual(values(task.arguments("mail_booking")), { booking_id: "$out_1", to: "ana@example.com" });
    const fork = task.fork();
    task.failed("mail_booking");
    task.undo(); // the failure
    task.undo(); // the call
    task.call("book_table", {}, { booking_id: "B-77" });
    assert.equal(task.arguments("mail_booking").given.booking_id.value, "B-77");
    assert.equal(fork.arguments("mail_booking").given.booking_id.source, "output");
    assert.equal(fork.arguments("mail_booking").given.booking_id.value, "$out_1");
    fork.end();
    const decided = task.next({ policy: "heads" });
    if (decided.tool !== null) assert.deepEqual(task.arguments(), task.arguments(decided.tool));
  }));

test("many parameters, odd names and what does not fit", () =>
  begun("set __proto__ to 5", (task, model) => {
    const names = ["__proto__", "constructor", ...Array.from({ length: 90 }, (_, i) => `p${i}`)];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "integer" }]));
    const all = model.withTools({ add: [{ name: "set_all", description: "Set all.", parameters: { type: "object", required: names, properties } }] });
    const wide = all.task("set 1 and 2");
    assert.equal(Object.keys(wide.arguments("set_all").missing).length >= 90, true); // more than there was room for at first
    wide.end();
    all.free();
    assert.throws(() => task.arguments(), /no tool was decided/);
    assert.throws(() => task.arguments("nobody"), /unknown tool "nobody"/);
    assert.throws(() => task.arguments("book_table", { clock: 1 }), /no option "clock"/);
    for (const now of [5, "now", new Date(Number.NaN)]) assert.throws(() => task.arguments("book_table", { now }), /expected a Date/);
    assert.throws(() => task.arguments("book_table", { now: new Date(-1e14) }), EdgeretError);
    for (const odd of [null, [1], "a", 5]) assert.throws(() => task.call("book_table", odd), /must be an object/);
    const circle = {};
    circle.self = circle;
    assert.throws(() => task.call("book_table", circle), /must be JSON/);
    assert.throws(() => task.call("book_table", { n: 5n }), /must be JSON/);
    task.call("book_table", { f() {}, half: "\\\ud83d", whole: "😀\\ud83d" }, () => 1);
    task.arguments("mail_booking");
    let deep = [];
    for (let i = 0; i < 100; i++) deep = [deep];
    task.call("book_table", { deep });
    assert.throws(() => task.arguments("mail_booking"), /a call's arguments: more than 64 .* give it as JSON/);
    task.end();
    assert.throws(() => task.arguments("book_table"), /has ended/);
  }));
