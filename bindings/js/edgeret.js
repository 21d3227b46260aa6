/**
 * edgeret in a page, a worker or Node: which function an assistant calls next, decided where the words are typed.
 *
 * The library is edgeret.wasm beside this file, the bundle's files are yours: `Model.fetch(url)` gets them from a server,
 * `Model.from(files)` takes what a person chose or dropped, and `edgeret/node` reads a folder.
 */

const REASONS = ["probable", "nothing fits", "unsure", "all failed", "done"];
const STRATEGIES = ["auto", "hybrid", "description"]; // as er_search_strategy
const TEXT = new TextEncoder(), WORDS = new TextDecoder("utf-8", { fatal: true });

/** A failure, in the words of the library. `code` is one of "input", "bundle", "file", "memory", "encoder" and "full". */
export class EdgeretError extends Error {
  static codes = ["fine", "input", "bundle", "file", "memory", "encoder", "full"];
  constructor(message, status) {
    super(message);
    this.name = "EdgeretError";
    this.code = EdgeretError.codes[status] ?? "input";
  }
}

/** The library, started once: from the bytes of edgeret.wasm, a Response or a compiled module. */
export class Library {
  static #usual;

  /** The one beside this file. */
  static usual() {
    return (Library.#usual ??= Library.start(Library.#own()));
  }

  static async #own() {
    const url = new URL("./edgeret.wasm", import.meta.url);
    if (url.protocol !== "file:" || typeof process === "undefined") return fetch(url);
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }

  static async start(from) {
    const source = await from;
    let instance;
    if (source instanceof WebAssembly.Module) instance = await WebAssembly.instantiate(source, {});
    else if (typeof Response !== "undefined" && source instanceof Response) {
      if (!source.ok) throw new EdgeretError(`edgeret.wasm: the server said ${source.status}; put it beside edgeret.js`, 3);
      instance = (await WebAssembly.instantiate(await source.arrayBuffer(), {})).instance;
    } else instance = (await WebAssembly.instantiate(source, {})).instance;
    instance.exports._initialize?.();
    if (!instance.exports.with_tools || !instance.exports.list)
      throw new EdgeretError("edgeret.wasm is of another build than edgeret.js; run: python core/build.py wasm", 1);
    return new Library(instance.exports);
  }

  constructor(exports) {
    this.c = exports;
  }

  /** The failure that the library told last. */
  failure() {
    const bytes = new Uint8Array(this.c.memory.buffer), at = this.c.error();
    return new EdgeretError(new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at))), this.c.status());
  }

  check(status) {
    if (status !== 0) throw this.failure();
  }

  /** The names of the files that a bundle with this manifest is loaded from. */
  list(manifest, alone) {
    const room = this.take(8 * 256), at = this.take(manifest.length);
    try {
      new Uint8Array(this.c.memory.buffer).set(manifest, at);
      const count = this.c.list(at, manifest.length, alone ? 1 : 0, room);
      if (count < 0) throw this.failure();
      const pairs = new Uint32Array(this.c.memory.buffer, room, 2 * count), bytes = new Uint8Array(this.c.memory.buffer);
      return Array.from({ length: count }, (_, i) => WORDS.decode(bytes.slice(pairs[2 * i], pairs[2 * i] + pairs[2 * i + 1])));
    } finally {
      this.c.release(at);
      this.c.release(room);
    }
  }

  numbers(count) {
    return new Float64Array(this.c.memory.buffer, this.c.numbers(), count);
  }

  /** The text whose place and length were told last. */
  told() {
    const [at, length] = this.numbers(2);
    return WORDS.decode(new Uint8Array(this.c.memory.buffer, at, length));
  }

  take(size) {
    const at = this.c.allocate(Math.max(size, 1));
    if (at === 0) throw new EdgeretError(`no memory for ${size} bytes; a smaller bundle needs less`, 4);
    return at;
  }

  /** Calls with a text's place and length, which are given back behind it. */
  with(text, call) {
    if (typeof text !== "string") throw new EdgeretError(`expected text, found ${typeof text}`, 1);
    const bytes = TEXT.encode(text), at = this.take(bytes.length);
    try {
      new Uint8Array(this.c.memory.buffer).set(bytes, at);
      return call(at, bytes.length);
    } finally {
      this.c.release(at);
    }
  }
}

/** Memory that models share: who leaves last gives it back. */
class Held {
  #places = [];
  #users = 1;

  constructor(library) {
    this.library = library;
  }

  take(size) {
    const at = this.library.take(size);
    this.#places.push(at);
    return at;
  }

  join() {
    this.#users++;
    return this;
  }

  leave() {
    if (--this.#users) return;
    for (const at of this.#places) this.library.c.release(at);
    this.#places = [];
  }
}

/** What nobody can reach any more is given back when the engine finds out, which may be late or never. */
const forgotten = new FinalizationRegistry((give) => give());

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
    const c = library ?? (await Library.usual());
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
    const library = options.library ?? (await Library.usual());
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
    const { c } = this.#library, held = new Held(this.#library);
    const texts = [...list("add", add).map(written), ...list("remove", remove), ...list("replace", replace).map(written)];
    try {
      const table = held.take(8 * texts.length);
      texts.forEach((text, i) => {
        if (typeof text !== "string") throw new EdgeretError(`expected text, found ${typeof text}`, 1);
        const bytes = TEXT.encode(text), at = held.take(bytes.length);
        new Uint8Array(c.memory.buffer).set(bytes, at);
        new Uint32Array(c.memory.buffer, table + 8 * i, 2).set([at, bytes.length]);
      });
      const made = c.with_tools(this.at, table, add.length, remove.length, replace.length);
      if (made === 0) throw this.#library.failure();
      return new Model(this.#library, made, this.#held.join());
    } finally {
      held.leave();
    }
  }

  /** One request of a user. `tools` are the only ones that may be chosen. */
  task(query, options = {}) {
    const { c } = this.#library, { tools } = known(options, ["tools"]);
    return this.#library.with(query, (at, length) => {
      let allowed = 0;
      try {
        if (tools !== undefined) {
          const numbers = list("tools", tools).map((tool) => this.number(tool));
          allowed = this.#library.take(4 * numbers.length);
          new Uint32Array(c.memory.buffer, allowed, numbers.length).set(numbers);
        }
        const task = c.begin(this.at, at, length, allowed, tools?.length ?? 0);
        if (task === 0) throw this.#library.failure();
        return new Task(this, this.#library, task, this.#held.join());
      } finally {
        if (allowed) c.release(allowed);
      }
    });
  }

  /** The `k` tools that words want most: by demonstrations where they are like one, or by another strategy. */
  search(query, { k = 10, strategy = "auto" } = {}) {
    const by = STRATEGIES.indexOf(strategy);
    if (by < 0) throw new EdgeretError(`unknown strategy ${JSON.stringify(strategy)}; choose one of ${STRATEGIES.join(", ")}`, 1);
    const { c } = this.#library, most = Math.min(whole(k), this.tools.length), at = this.#library.take(32 * most);
    try {
      const count = this.#library.with(query, (text, length) => c.search(this.at, text, length, by, at, most));
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

  constructor(model, library, at, held) {
    this.model = model;
    this.#library = library;
    this.#at = at;
    this.#held = held;
    forgotten.register(this, giver(library, "end_task", at, held), this);
  }

  /** What comes next. `policy` "heads" never abstains; `risk` is the share of wrong answers that is allowed. */
  next(options = {}) {
    const { policy = "auto", minProbability, risk = 0 } = known(options, ["policy", "minProbability", "risk"]);
    if (policy !== "auto" && policy !== "heads") throw new EdgeretError(`no policy ${JSON.stringify(policy)}; there are "auto" and "heads"`, 1);
    const least = minProbability === undefined ? 0 : minProbability || -1; // the library takes 0 for the bundle's own
    this.#library.check(this.#library.c.next(this.#own(), policy === "heads" ? 1 : 0, least, risk));
    const [tool, probability, reason, abstained, confirm, named, stage, demonstrated, floor] = this.#library.numbers(9);
    return {
      tool: tool < 0 ? null : this.model.tools[tool], probability, reason: REASONS[reason], abstained: abstained !== 0,
      confirm: confirm !== 0, named: named !== 0, stage: stage ? "full" : "static", demonstrated: demonstrated !== 0, floor,
    };
  }

  /** The `k` most probable candidates of the decision before; `tool` is null for the end. */
  candidates(k = 10) {
    const { c } = this.#library, most = Math.min(whole(k), this.model.tools.length + 1), at = this.#library.take(16 * most);
    try {
      const count = c.candidates(this.#own(), at, most);
      if (count < 0) throw this.#library.failure();
      const found = new Float64Array(c.memory.buffer, at, 2 * Math.min(count, most));
      return Array.from({ length: found.length / 2 }, (_, i) => ({
        tool: found[2 * i] < 0 ? null : this.model.tools[found[2 * i]], probability: found[2 * i + 1],
      }));
    } finally {
      c.release(at);
    }
  }

  #named(what, tool) {
    this.#library.check(this.#library.with(tool, (at, length) => this.#library.c[what](this.#own(), at, length)));
  }

  /** It was called. */
  call(tool) {
    this.#named("call", tool);
  }

  /** It did not work, and is left out until the next call or `retry`. */
  failed(tool) {
    this.#named("fail", tool);
  }

  retry(tool) {
    this.#named("retry", tool);
  }

  /** Takes the last call or failure back. */
  undo() {
    this.#library.check(this.#library.c.undo(this.#own()));
  }

  /** Another task that goes on from here on its own. */
  fork() {
    const other = this.#library.c.fork(this.#own());
    if (other === 0) throw this.#library.failure();
    return new Task(this.model, this.#library, other, this.#held.join());
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

/** What gives a handle's memory back, without holding the object that has it. */
function giver(library, how, at, held) {
  return () => {
    library.c[how](at);
    held.leave();
  };
}

/** Options, none of them misspelt. */
function known(options, names) {
  if (options === null || typeof options !== "object") throw new EdgeretError(`expected options, found ${options === null ? "null" : typeof options}`, 1);
  for (const name of Object.keys(options))
    if (!names.includes(name)) throw new EdgeretError(`no option ${JSON.stringify(name)}; there are ${names.join(", ")}`, 1);
  return options;
}

function list(name, value) {
  if (!Array.isArray(value)) throw new EdgeretError(`${name}: expected an array, found ${typeof value}`, 1);
  return value;
}

function whole(k) {
  if (!Number.isInteger(k) || k < 0) throw new EdgeretError(`k must be a whole number, 0 or more, found ${String(k)}`, 1);
  return k;
}

function written(definition) {
  return typeof definition === "string" ? definition : JSON.stringify(definition);
}

function entries(files) {
  if (files === null || typeof files !== "object") throw new EdgeretError(`expected files by name, found ${files === null ? "null" : typeof files}`, 1);
  if (files instanceof Map) return [...files];
  if (typeof files?.[Symbol.iterator] === "function") return [...files].map((file) => [file?.webkitRelativePath || file?.name, file]);
  return Object.entries(files);
}

async function bytes(content) {
  if (content instanceof Uint8Array) return content;
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (typeof content?.arrayBuffer === "function") return new Uint8Array(await content.arrayBuffer());
  throw new EdgeretError("a file of a bundle must be an ArrayBuffer, a typed array or a Blob", 1);
}
