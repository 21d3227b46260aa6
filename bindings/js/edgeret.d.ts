export type Code = "input" | "bundle" | "file" | "memory" | "encoder" | "full";

/** A failure, in the words of the library. */
export class EdgeretError extends Error {
  readonly code: Code;
}

export type Content = ArrayBuffer | ArrayBufferView | Blob;
export type Files = Map<string, Content> | Record<string, Content> | Iterable<File>;

/** The library, started once. */
export class Library {
  static usual(): Promise<Library>;
  static start(from: Promise<unknown> | ArrayBuffer | ArrayBufferView | Response | WebAssembly.Module): Promise<Library>;
}

export interface LoadOptions {
  /** Started elsewhere, of other bytes than those beside edgeret.js. */
  library?: Library;
  /** "tiny": the small encoder decides alone, and the large one is not read. */
  profile?: "default" | "tiny";
  /** Accuracy that asking the small encoder first may cost; 0 for the usual. */
  mostLoss?: number;
}

export interface NextOptions {
  /** "heads" never abstains. */
  policy?: "auto" | "heads";
  /** The least that an answer needs; the bundle's own unless told. */
  minProbability?: number;
  /** In its place: the share of wrong answers that is allowed, 0.005 to 0.5. */
  risk?: number;
}

export interface Decision {
  /** The tool to call next; null where nothing is to be called. */
  tool: string | null;
  /** Of the best candidate, calibrated. */
  probability: number;
  reason: "probable" | "nothing fits" | "unsure" | "all failed" | "done";
  abstained: boolean;
  /** A person is to confirm the call. */
  confirm: boolean;
  /** The request says the tool's name. */
  named: boolean;
  stage: "static" | "full";
  /** Demonstrations decided, and not the tools alone. */
  demonstrated: boolean;
  floor: number;
}

export interface Candidate {
  /** null for the end. */
  tool: string | null;
  probability: number;
}

export interface Hit {
  tool: string;
  score: number;
  /** Of what the words want: all shares sum to 1; by description 0. */
  share: number;
  cosine: number;
}

/** A definition, as tools.json has it. */
export interface Tool {
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  parameters?: Record<string, unknown>;
  /** Sentences by which a user may ask for it. */
  examples?: readonly string[];
  /** The share of its calls that may be wrong, 0.005 to 0.5. */
  risk?: number;
  /** A person is to confirm its calls. */
  confirm?: boolean;
}

export interface Change {
  add?: readonly (Tool | string)[];
  /** By name. */
  remove?: readonly string[];
  /** In the place of those with their names. */
  replace?: readonly (Tool | string)[];
}

/** A loaded bundle. */
export class Model {
  static from(files: Files, options?: LoadOptions): Promise<Model>;
  static fetch(url: string | URL, options?: LoadOptions): Promise<Model>;
  readonly contentHash: string;
  readonly tools: readonly string[];
  /** How many tools demonstrations call, the end among them; 0 without any. */
  readonly labels: number;
  readonly dimension: number;
  readonly stages: number;
  readonly encodes: boolean;
  readonly bytes: number;
  definition(tool: string): Tool;
  /** Another model, which shares what stays with this one; each is freed by itself, in any order. */
  withTools(change: Change): Model;
  /** One request of a user, at most 20,000 characters. `tools` are the only ones that may be chosen. */
  task(query: string, options?: { tools?: readonly string[] }): Task;
  /** "auto" goes by demonstrations where the words are like one of them, and else as "hybrid", by the tools' own words;
   * "description" goes by the cosine alone. */
  search(query: string, options?: { k?: number; strategy?: "auto" | "hybrid" | "description" }): Hit[];
  free(): void;
}

/** One request, step by step. */
export class Task {
  next(options?: NextOptions): Decision;
  /** Of the last `next()`, the most probable first; 10 unless told. Behind a call and in a fork `next()` comes first. */
  candidates(k?: number): Candidate[];
  /** It was called; strangers' tools count, too, so any name may be given. */
  call(tool: string): void;
  failed(tool: string): void;
  retry(tool: string): void;
  undo(): void;
  fork(): Task;
  end(): void;
}
