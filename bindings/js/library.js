/** The library behind edgeret.js: the module's memory, what goes into it and comes out, and what a failure is. Knows nothing of
 * bundles. */

// What the library that only decides lacks, and how a page calls it.
const MORE = { search: "search", explain: "explain", with_tools: "withTools", learner: "learner", arguments: "arguments" };

export const TEXT = new TextEncoder(), WORDS = new TextDecoder("utf-8", { fatal: true });

/** A failure, in the words of the library. `code` says of what kind. */
export class EdgeretError extends Error {
  static codes = ["fine", "input", "bundle", "file", "memory", "encoder", "full", "overlay", "kept"];
  constructor(message, status) {
    super(message);
    this.name = "EdgeretError";
    this.code = EdgeretError.codes[status] ?? "input";
  }
}

/** The library, started once: from the bytes of edgeret.wasm, a Response or a compiled module. */
export class Library {
  static #kept = {};

  /** The one beside this file. */
  static usual() {
    return (Library.#kept.all ??= Library.start(Library.#own(new URL("./edgeret.wasm", import.meta.url))));
  }

  /** The smaller one beside this file, which decides and no more. */
  static deciding() {
    return (Library.#kept.decide ??= Library.start(Library.#own(new URL("./edgeret-decide.wasm", import.meta.url))));
  }

  /** What the option `library` of a loading means. */
  static of(given) {
    if (given === undefined) return Library.usual();
    if (given === "decide") return Library.deciding();
    if (given instanceof Library) return given;
    throw new EdgeretError('library: expected "decide", or what Library.start gives', 1);
  }

  static async #own(url) {
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
    const missing = Object.keys(MORE).filter((name) => !instance.exports[name]);
    if (!instance.exports.told || (missing.length && missing.length < Object.keys(MORE).length))
      throw new EdgeretError("edgeret.wasm is of another build than edgeret.js; run: python core/build.py wasm", 1);
    return new Library(instance.exports);
  }

  constructor(exports) {
    this.c = { ...exports };
    for (const [name, called] of Object.entries(MORE))
      this.c[name] ??= () => {
        throw new EdgeretError(`${called}: not in edgeret-decide.wasm; load with edgeret.wasm, without the option library`, 1);
      };
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

  /** What was written to be read: so many bytes, or a failure below 0. */
  reader(length) {
    if (length < 0) throw this.failure();
    return new Reader(new Uint8Array(this.c.memory.buffer, this.c.told(), length));
  }

  /** The time, and what nobody can guess, which a module cannot know by itself. */
  draw() {
    const at = this.c.drawn(Date.now() / 1000);
    globalThis.crypto.getRandomValues(new Uint8Array(this.c.memory.buffer, at, 32));
  }

  /** Calls with the place of a table of texts, which is given back behind it. */
  withTexts(texts, call) {
    const held = new Held(this);
    try {
      const table = held.take(8 * texts.length);
      texts.forEach((text, i) => {
        if (typeof text !== "string") throw new EdgeretError(`expected text, found ${typeof text}`, 1);
        const bytes = TEXT.encode(text), at = held.take(bytes.length);
        new Uint8Array(this.c.memory.buffer).set(bytes, at);
        new Uint32Array(this.c.memory.buffer, table + 8 * i, 2).set([at, bytes.length]);
      });
      return call(table);
    } finally {
      held.leave();
    }
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

/** Numbers and texts that the library wrote one after the other. */
class Reader {
  #at = 0;

  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  number() {
    return this.view.getFloat64((this.#at += 8) - 8, true);
  }

  text() {
    const length = this.number();
    return WORDS.decode(this.bytes.slice(this.#at, (this.#at += length)));
  }

  /** So many of what `one` reads, which stands in front of them. */
  list(one) {
    return Array.from({ length: this.number() }, one);
  }

  texts() {
    return this.list(() => this.text());
  }
}

/** Memory that models share: who leaves last gives it back. */
export class Held {
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
export const forgotten = new FinalizationRegistry((give) => give());

/** What gives a handle's memory back, without holding the object that has it. */
export function giver(library, how, at, held) {
  return () => {
    library.c[how](at);
    held.leave();
  };
}

/** Options, none of them misspelt. */
export function known(options, names) {
  if (options === null || typeof options !== "object") throw new EdgeretError(`expected options, found ${options === null ? "null" : typeof options}`, 1);
  for (const name of Object.keys(options))
    if (!names.includes(name)) throw new EdgeretError(`no option ${JSON.stringify(name)}; there are ${names.join(", ")}`, 1);
  return options;
}

export function list(name, value) {
  if (!Array.isArray(value)) throw new EdgeretError(`${name}: expected an array, found ${typeof value}`, 1);
  return value;
}

export function whole(k) {
  if (!Number.isInteger(k) || k < 0) throw new EdgeretError(`k must be a whole number, 0 or more, found ${String(k)}`, 1);
  return k;
}

export function written(definition) {
  return typeof definition === "string" ? definition : JSON.stringify(definition);
}

export function entries(files) {
  if (files === null || typeof files !== "object") throw new EdgeretError(`expected files by name, found ${files === null ? "null" : typeof files}`, 1);
  if (files instanceof Map) return [...files];
  if (typeof files?.[Symbol.iterator] === "function") return [...files].map((file) => [file?.webkitRelativePath || file?.name, file]);
  return Object.entries(files);
}

export async function bytes(content) {
  if (content instanceof Uint8Array) return content;
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (typeof content?.arrayBuffer === "function") return new Uint8Array(await content.arrayBuffer());
  throw new EdgeretError("a file of a bundle must be an ArrayBuffer, a typed array or a Blob", 1);
}
