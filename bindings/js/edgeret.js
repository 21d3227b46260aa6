/**
 * edgeret in a page, a worker or Node: which function an assistant calls next, decided where the words are typed.
 *
 * The library is edgeret.wasm beside this file, the bundle's files are yours: `Model.fetch(url)` gets them from a server,
 * `Model.from(files)` takes what a person chose or dropped, and `edgeret/node` reads a folder.
 */

import { EdgeretError, Held, Library, TEXT, WORDS, bytes, entries, forgotten, giver, known, list, whole, written } from "./library.js";

export { EdgeretError, Library };

const REASONS = ["probable", "nothing fits", "unsure", "all failed", "done"];
const STRATEGIES = ["auto", "hybrid", "description"]; // as er_search_strategy
const PARTS = ["head", "prior", "words", "meaning", "flow", "values", "examples", "graph", "memory", "learned", "familiarity"]; // as er_part_name
const RESTS_ON = ["tools", "head", "graph", "demonstrations", "learned", "turns"]; // as ER_BY_TOOLS and the like
const SOURCES = ["accepted", "corrected", "demonstration"]; // as er_source
const FOUND_IN = ["rule", "choice", "output", "earlier", "default"]; // as er_argument_source

/** A loaded bundle. `free()` gives its memory back. */
export class Model {
  #library;
  #at;
  #held;

  /**
   * Of files by name: a Map, an object, or a list of File as an <input webkitdirectory> has them; each an ArrayBuffer, a
   * typed array or a Blob. What this loading does not need, planners and licences among it, is not read.
   */
  static async from(files, options = {}) {
    const { library, profile = "default", mostLoss = 0 } = known(options, ["library", "profile", "mostLoss"]);
    if (profile !== "default" && profile !== "tiny")
      throw new EdgeretError(`no profile ${JSON.stringify(profile)}; there are "default" and "tiny"`, 1);
    const c = await Library.of(library);
    const given = new Map(entries(files).map(([name, content]) => [String(name).split("/").at(-1), content]));
    if (!given.has("manifest")) throw new EdgeretError('no bundle, since there is no file "manifest"', 2);
    const manifest = await bytes(given.get("manifest")), read = [["manifest", manifest]];
    for (const name of c.list(manifest, profile === "tiny")) if (given.has(name)) read.push([name, await bytes(given.get(name))]);
    return Model.#loaded(c, read, mostLoss, profile === "tiny");
  }

  /** From a folder on a server: `manifest` first, then what it lists. */
  static async fetch(url, options = {}) {
    const base = new URL(url, globalThis.location?.href);
    if (!base.pathname.endsWith("/")) base.pathname += "/";
    const get = async (name) => {
      const answer = await fetch(new URL(name, base)).catch((error) => {
        throw new EdgeretError(`${new URL(name, base)}: cannot be fetched (${error.message})`, 3);
      });
      if (!answer.ok) throw new EdgeretError(`${new URL(name, base)}: the server said ${answer.status}`, 3);
      return new Uint8Array(await answer.arrayBuffer());
    };
    const manifest = await get("manifest"), files = new Map([["manifest", manifest]]);
    const library = await Library.of(options.library);
    const wanted = library.list(manifest, options.profile === "tiny");
    for (const [name, content] of await Promise.all(wanted.map(async (name) => [name, await get(name)]))) files.set(name, content);
    return Model.from(files, options);
  }

  static #loaded(library, read, mostLoss, alone) {
    const { c } = library, held = new Held(library), table = held.take(16 * read.length);
    try {
      read.forEach(([name, content], i) => {
        const text = TEXT.encode(name), at = held.take(text.length), place = held.take(content.length);
        new Uint8Array(c.memory.buffer).set(text, at);
        new Uint8Array(c.memory.buffer).set(content, place);
        new Uint32Array(c.memory.buffer, table + 16 * i, 4).set([at, text.length, place, content.length]);
      });
      const model = c.load(table, read.length, mostLoss, alone ? 1 : 0);
      if (model === 0) throw library.failure();
      return new Model(library, model, held);
    } catch (error) {
      held.leave();
      throw error;
    }
  }

  /** Of what `from`, `fetch` and `withTools` made. */
  constructor(library, at, held) {
    this.#library = library;
    this.#at = at;
    this.#held = held;
    forgotten.register(this, giver(library, "free_model", at, held), this);
    const { c } = library;
    library.check(c.describe(this.#at));
    const [tools, labels, dimension, stages, encodes, hash, length, size] = library.numbers(8);
    this.contentHash = WORDS.decode(new Uint8Array(c.memory.buffer, hash, length));
    Object.assign(this, { labels, dimension, stages, encodes: encodes !== 0, bytes: size });
    /** Names of all tools. */
    this.tools = Object.freeze(Array.from({ length: tools }, (_, i) => (c.tool_name(this.#at, i), library.told())));
  }

  /** A tool's definition: name, description, parameters. */
  definition(tool) {
    this.#library.c.tool_definition(this.at, this.number(tool));
    return JSON.parse(this.#library.told());
  }

  /**
   * Another model with these tools added, removed by name and replaced: definitions as tools.json has them, as objects or
   * as JSON. It shares what stays with this one; each is freed by itself, in any order.
   */
  withTools(change = {}) {
    const { add = [], remove = [], replace = [] } = known(change, ["add", "remove", "replace"]);
    const texts = [...list("add", add).map(written), ...list("remove", remove), ...list("replace", replace).map(written)];
    return this.#library.withTexts(texts, (table) => {
      const made = this.#library.c.with_tools(this.at, table, add.length, remove.length, replace.length);
      if (made === 0) throw this.#library.failure();
      return new Model(this.#library, made, this.#held.join());
    });
  }

  /**
   * What is learned here, and was before: of the bytes that another learner's `bytes()` gave, if there are any. You keep them,
   * in IndexedDB or a file. `close()` it; tasks that run keep what they need.
   */
  learner(kept) {
    if (kept === undefined || kept === null) return new Learner(this, this.#library, this.#opened(0, 0), this.#held.join());
    const content = kept instanceof ArrayBuffer ? new Uint8Array(kept) : kept;
    if (!(content instanceof Uint8Array)) throw new EdgeretError(`expected the bytes of a learner, found ${typeof kept}`, 1);
    const place = this.#library.take(content.length);
    try {
      new Uint8Array(this.#library.c.memory.buffer).set(content, place);
      return new Learner(this, this.#library, this.#opened(place, content.length), this.#held.join());
    } finally {
      this.#library.c.release(place);
    }
  }

  #opened(place, length) {
    const made = this.#library.c.learner(this.at, place, length);
    if (made === 0) throw this.#library.failure();
    return made;
  }

  /**
   * One request of a user. `tools` are the only ones that may be chosen. Where a conversation goes on, `earlier` are the calls
   * of each turn before, by their tools' names, oldest first. A `learner` knows what was learned, and learns by `task.learn()`.
   */
  task(query, options = {}) {
    const { c } = this.#library, { tools, earlier, learner } = known(options, ["tools", "earlier", "learner"]);
    const turns = earlier === undefined ? [] : list("earlier", earlier).map((calls) => list("earlier", calls));
    const numbers = tools === undefined ? [] : list("tools", tools).map((tool) => this.number(tool));
    const last = turns.findLast((calls) => calls.length)?.length ?? 0, who = learner ? learnerAt(learner) : 0;
    return this.#library.with(query, (at, length) => this.#library.withTexts(turns.flat(), (calls) => {
      const allowed = this.#library.take(4 * numbers.length);
      try {
        new Uint32Array(c.memory.buffer, allowed, numbers.length).set(numbers);
        const before = earlier === undefined ? 0 : calls, only = tools === undefined ? 0 : allowed;
        const task = c.begin(this.at, at, length, only, numbers.length, before, turns.flat().length, last, who);
        if (task === 0) throw this.#library.failure();
        return new Task(this, this.#library, task, this.#held.join(), query);
      } finally {
        c.release(allowed);
      }
    }));
  }

  /** The `k` tools that words want most: by demonstrations where they are like one, or by another strategy. */
  search(query, options = {}) {
    const { k = 10, strategy = "auto", learner } = known(options, ["k", "strategy", "learner"]);
    const by = STRATEGIES.indexOf(strategy);
    if (by < 0) throw new EdgeretError(`unknown strategy ${JSON.stringify(strategy)}; choose one of ${STRATEGIES.join(", ")}`, 1);
    const { c } = this.#library, most = Math.min(whole(k), this.tools.length), at = this.#library.take(32 * most);
    try {
      const count = this.#library.with(query, (text, length) => c.search(this.at, text, length, by, learner ? learnerAt(learner) : 0, at, most));
      if (count < 0) throw this.#library.failure();
      const found = new Float64Array(c.memory.buffer, at, 4 * Math.min(count, most));
      return Array.from({ length: found.length / 4 }, (_, i) => ({
        tool: this.tools[found[4 * i]], score: found[4 * i + 1], share: found[4 * i + 2], cosine: found[4 * i + 3],
      }));
    } finally {
      c.release(at);
    }
  }

  number(tool) {
    const found = this.#library.with(tool, (at, length) => this.#library.c.tool_find(this.at, at, length));
    if (found < 0) throw new EdgeretError(`unknown tool ${JSON.stringify(tool)}; model.tools lists those that are there`, 1);
    return found;
  }

  get at() {
    if (!this.#at) throw new EdgeretError("this model was freed; load it again", 1);
    return this.#at;
  }

  free() {
    if (!this.#at) return;
    forgotten.unregister(this);
    giver(this.#library, "free_model", this.#at, this.#held)();
    this.#at = 0;
  }

  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.free();
  }
}

/** One request, step by step. `end()` gives its memory back. */
export class Task {
  #library;
  #at;
  #held;
  #log; // of each call its tool, arguments and result, as texts; null for a failure
  #decided; // the tool that next() decided last; undefined before

  /** Of what `Model.task` and `fork` made. */
  constructor(model, library, at, held, query, log = []) {
    this.model = model;
    this.query = query;
    this.#library = library;
    this.#at = at;
    this.#held = held;
    this.#log = log;
    forgotten.register(this, giver(library, "end_task", at, held), this);
  }

  /** What comes next. `policy` "heads" never abstains; `risk` is the share of wrong answers that is allowed; `own` has the bundle's
   * own encoder decide, also where a small one in front is sure. */
  next(options = {}) {
    const { policy = "auto", minProbability, risk = 0, own = false } = known(options, ["policy", "minProbability", "risk", "own"]);
    if (policy !== "auto" && policy !== "heads") throw new EdgeretError(`no policy ${JSON.stringify(policy)}; there are "auto" and "heads"`, 1);
    const least = minProbability === undefined ? 0 : minProbability || -1; // the library takes 0 for the bundle's own
    this.#library.check(this.#library.c.next(this.#own(), policy === "heads" ? 1 : 0, least, risk, own ? 1 : 0));
    const [tool, probability, reason, abstained, confirm, named, stage, demonstrated, floor, best, parts] = this.#library.numbers(11);
    this.#decided = this.#named(tool);
    return {
      tool: this.#named(tool), probability, reason: REASONS[reason], abstained: abstained !== 0,
      confirm: confirm !== 0, named: named !== 0, stage: stage ? "full" : "static", demonstrated: demonstrated !== 0, floor,
      best: this.#named(best), restsOn: RESTS_ON.filter((_, i) => parts & (1 << i)),
    };
  }

  /** The `k` most probable candidates of the decision before; `tool` is null for the end. */
  candidates(k = 10) {
    return this.#listed(k, 0);
  }

  /** Those of them that hold what is right in a share `coverage` of decisions: whom to ask a person, or a planner, about. */
  conformal(coverage = 0.9) {
    if (!(coverage > 0 && coverage < 1)) throw new EdgeretError(`coverage lies between 0 and 1, found ${String(coverage)}`, 1);
    return this.#listed(this.model.tools.length + 1, coverage);
  }

  #listed(k, coverage) {
    const { c } = this.#library, most = Math.min(whole(k), this.model.tools.length + 1), at = this.#library.take(16 * most);
    try {
      const count = c.candidates(this.#own(), at, most, coverage);
      if (count < 0) throw this.#library.failure();
      const found = new Float64Array(c.memory.buffer, at, 2 * Math.min(count, most));
      return Array.from({ length: found.length / 2 }, (_, i) => ({
        tool: this.#named(found[2 * i]), probability: found[2 * i + 1],
      }));
    } finally {
      c.release(at);
    }
  }

  #named(number) {
    return number < 0 ? null : this.model.tools[number];
  }

  /**
   * Why the decision before came out as it did: what each part says of 1 to 3 candidates (null is the end; the three most
   * probable unless told), the demonstrations nearest to the request, its words, and what requests like it mostly call.
   */
  explain(compared = this.candidates(3).map((one) => one.tool)) {
    const { c } = this.#library, numbers = list("compared", compared).map((tool) => (tool === null ? -1 : this.model.number(tool)));
    const at = this.#library.take(4 * numbers.length);
    try {
      new Int32Array(c.memory.buffer, at, numbers.length).set(numbers);
      const told = this.#library.reader(c.explain(this.#own(), at, numbers.length));
      const orNull = (value) => (Number.isNaN(value) ? null : value);
      return {
        compared: [...compared],
        votes: told.list(() => {
          const part = PARTS[told.number()], within = told.number(), weight = told.number(), pull = orNull(told.number());
          return { part, within: PARTS[within] ?? null, weight, pull, shares: numbers.map(() => orNull(Math.exp(told.number()))) };
        }),
        near: told.list(() => ({
          query: told.text() || null, calls: told.texts(), learned: told.number() !== 0, cosine: told.number(),
        })),
        words: told.list(() => {
          const word = told.text(), unknown = told.number() !== 0, has = told.number();
          return { word, unknown, in: compared.filter((_, i) => has & (1 << i)) };
        }),
        cluster: told.list(() => ({ tool: this.#named(told.number()), share: told.number() })),
        similarity: orNull(told.number()),
      };
    } finally {
      c.release(at);
    }
  }

  /** The request's words for wishes that no call is for yet, where it asks for several things. */
  leftAside() {
    return this.#library.reader(this.#library.c.left_aside(this.#own())).texts();
  }

  /**
   * What a call of `tool`, of the one that `next()` decided unless told, is given: values that the request and the calls before
   * it say, each with where from, and questions for what it must have and nobody said. `now`, a Date, is what "tomorrow" is
   * counted from. `given[name].span` cuts the value's words out of the request: `query.slice(...span)`.
   */
  arguments(tool = this.#decided, options = {}) {
    const { now, rulesAlone = false } = known(options, ["now", "rulesAlone"]);
    if (tool === undefined || tool === null) throw new EdgeretError("no tool was decided; ask next() first, or name the tool", 1);
    if (now !== undefined && !(now instanceof Date && !Number.isNaN(now.getTime()))) throw new EdgeretError("now: expected a Date", 1);
    const { c } = this.#library, made = this.#log.filter((one) => one !== null), clock = now === undefined ? 0 : this.#library.take(28);
    try {
      if (clock) new Int32Array(c.memory.buffer, clock, 7).set(clockOf(now));
      const told = this.#library.withTexts(made.flat(), (calls) => this.#library.with(tool, (at, length) =>
        this.#library.reader(c.arguments(this.#own(), at, length, calls, made.length, clock, rulesAlone ? 1 : 0))));
      const value = () => (told.number() ? told.text() : JSON.parse(told.text())), place = placesIn(this.query);
      const given = told.list(() => {
        const name = told.text(), found = value(), source = FOUND_IN[told.number()], begin = told.number(), end = told.number();
        const span = end ? [place(begin), place(end)] : null;
        return [name, { value: found, source, span, confidence: told.number(), alternatives: told.list(value) }];
      });
      return { given: Object.fromEntries(given), missing: Object.fromEntries(told.list(() => [told.text(), told.text()])) };
    } finally {
      if (clock) c.release(clock);
    }
  }

  /**
   * Learns that the calls made so far, and no more, solve the request: none, that nothing fits. Of a task that began with a
   * learner; `words: false` keeps the query's vector and the tools' names alone. Keep the learner's `bytes()` behind it.
   */
  learn(options = {}) {
    const { source = "accepted", words = true } = known(options, ["source", "words"]);
    if (!SOURCES.includes(source)) throw new EdgeretError(`no source ${JSON.stringify(source)}; there are ${SOURCES.join(", ")}`, 1);
    this.#library.draw();
    this.#library.check(this.#library.c.learn(this.#own(), SOURCES.indexOf(source), words ? 0 : 1));
    return report(this.#library, true);
  }

  #say(what, tool) {
    this.#library.check(this.#library.with(tool, (at, length) => this.#library.c[what](this.#own(), at, length)));
    this.#decided = undefined;
  }

  /** It was called, with these arguments, and gave this: what later calls are given is read from both. */
  call(tool, given = {}, result = undefined) {
    if (given === null || typeof given !== "object" || Array.isArray(given))
      throw new EdgeretError("a call's arguments must be an object; give values by name", 1);
    const made = [tool, asJson(given), result === undefined ? "" : asJson(result)];
    this.#say("call", tool);
    this.#log.push(made);
  }

  /** It did not work, and is left out until the next call or `retry`. */
  failed(tool) {
    this.#say("fail", tool);
    this.#log.push(null);
  }

  retry(tool) {
    this.#say("retry", tool);
  }

  /** Takes the last call or failure back. */
  undo() {
    this.#library.check(this.#library.c.undo(this.#own()));
    this.#decided = undefined;
    this.#log.pop();
  }

  /** Another task that goes on from here on its own. */
  fork() {
    const other = this.#library.c.fork(this.#own());
    if (other === 0) throw this.#library.failure();
    return new Task(this.model, this.#library, other, this.#held.join(), this.query, [...this.#log]);
  }

  #own() {
    if (!this.#at) throw new EdgeretError("this task has ended; begin another one", 1);
    return this.#at;
  }

  end() {
    if (!this.#at) return;
    forgotten.unregister(this);
    giver(this.#library, "end_task", this.#at, this.#held)();
    this.#at = 0;
  }

  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.end();
  }
}

/** What is learned on this device: which calls solved which requests. `close()` gives its memory back. */
export class Learner {
  #library;
  #at;
  #held;

  /** Of what `Model.learner` and `copy` made. */
  constructor(model, library, at, held) {
    this.model = model;
    this.#library = library;
    this.#at = at;
    this.#held = held;
    forgotten.register(this, giver(library, "close_learner", at, held), this);
  }

  /** Begins a request that is decided by what was learned, too; as `model.task`. */
  task(query, options = {}) {
    return this.model.task(query, { ...known(options, ["tools", "earlier"]), learner: this });
  }

  /** How much was learned. */
  report() {
    this.#library.check(this.#library.c.learned(this.at));
    return report(this.#library, false);
  }

  /** All plans that are stored, in no order. */
  plans() {
    const told = this.#library.reader(this.#library.c.plans(this.at)), found = [];
    while (told.number()) {
      const id = told.number(), query = told.text() || null, calls = told.texts(), source = SOURCES[told.number()];
      found.push({ id, query, calls, source, learnedAt: new Date(1000 * told.number()) });
    }
    return found;
  }

  /** Forgets plans and all that they taught: by one of their `query`, a `tool` that they call, their `id`, or `everything: true`.
   * How many there were. */
  forget(options) {
    const chosen = known(options, ["query", "tool", "id", "everything"]), [what, ...more] = Object.keys(chosen);
    if (!what || more.length || chosen[what] === false) throw new EdgeretError("say what to forget: a query, a tool, an id or everything", 1);
    const kind = ["query", "tool", "id", "everything"].indexOf(what), text = kind < 2 ? chosen[what] : "";
    if (kind === 2) whole(chosen.id);
    const count = this.#library.with(text, (at, length) => this.#library.c.forget(this.at, kind, at, length, kind === 2 ? chosen.id : 0));
    if (count < 0) throw this.#library.failure();
    return count;
  }

  /** All that was learned, to be kept and given to `model.learner` again: an overlay, which Python reads, too. */
  bytes() {
    this.#library.draw();
    return this.#library.reader(this.#library.c.learner_bytes(this.at)).bytes.slice();
  }

  /** Another one that has learned the same, to try out what a plan would change. */
  copy() {
    const other = this.#library.c.copy_learner(this.at);
    if (other === 0) throw this.#library.failure();
    return new Learner(this.model, this.#library, other, this.#held.join());
  }

  get at() {
    if (!this.#at) throw new EdgeretError("this learner was closed; make another one", 1);
    return this.#at;
  }

  close() {
    if (!this.#at) return;
    forgotten.unregister(this);
    giver(this.#library, "close_learner", this.#at, this.#held)();
    this.#at = 0;
  }

  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.close();
  }
}

function learnerAt(learner) {
  if (!(learner instanceof Learner)) throw new EdgeretError("learner: expected what model.learner() gives", 1);
  return learner.at;
}

function report(library, learned) {
  const [stored, used, gain, size, id] = library.numbers(5);
  return { stored, used: used !== 0, gain, bytes: size, ...(learned ? { id } : {}) };
}

function asJson(value) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new EdgeretError(`what a call is given and gives must be JSON: ${error.message}`, 1);
  }
  // A function, which nobody can read, is nothing; half a surrogate pair is no letter.
  return (text ?? "null").replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\\ufffd" : found));
}

/** Year to second, and minutes ahead of UTC. */
function clockOf(now) {
  const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate(), now.getHours(), now.getMinutes(), now.getSeconds()];
  return [...parts, -now.getTimezoneOffset()];
}

/** Where the n-th code point of a text begins, as `slice` counts. */
function placesIn(text) {
  const at = [0];
  for (const point of text) at.push(at.at(-1) + point.length);
  return (n) => at[n];
}
