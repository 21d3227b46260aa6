export type Code = "input" | "bundle" | "file" | "memory" | "encoder" | "full" | "overlay" | "kept";

/** A failure, in the words of the library. */
export class EdgeretError extends Error {
  readonly code: Code;
}

export type Content = ArrayBuffer | ArrayBufferView | Blob;
export type Files = Map<string, Content> | Record<string, Content> | Iterable<File>;

/** The library, started once. */
export class Library {
  static usual(): Promise<Library>;
  /** The smaller one, which decides and no more. */
  static deciding(): Promise<Library>;
  static start(from: Promise<unknown> | ArrayBuffer | ArrayBufferView | Response | WebAssembly.Module): Promise<Library>;
}

export interface LoadOptions {
  /** "decide": the smaller library, without search, explanations, arguments, learning and tools that come. Or one that was started
   * elsewhere, of other bytes than those beside edgeret.js. */
  library?: Library | "decide";
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
  /** The bundle's own encoder decides, also where a small one in front is sure. */
  own?: boolean;
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
  /** The best candidate, also where it was not taken; null for the end. */
  best: string | null;
  /** What the probability rests on. */
  restsOn: ("tools" | "head" | "graph" | "demonstrations" | "learned" | "turns")[];
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

export type Part =
  | "head" | "prior" | "words" | "meaning" | "flow" | "values" | "examples" | "graph" | "memory" | "learned" | "familiarity";

/** What a part of the decision says by itself. */
export interface Vote {
  part: Part;
  /** The part that it is a part of. */
  within: Part | null;
  /** 0 where it has no say. */
  weight: number;
  /** Nats that it adds to the odds of the first candidate against the second. */
  pull: number | null;
  /** Of each candidate; null where it says nothing of it. */
  shares: (number | null)[];
}

export interface Explanation {
  /** The candidates; null is the end. */
  compared: (string | null)[];
  votes: Vote[];
  /** The nearest demonstrations, nearest first; `query` is null where no words were kept. */
  near: { query: string | null; calls: string[]; learned: boolean; cosine: number }[];
  /** The request's words, and the candidates that have them. */
  words: { word: string; unknown: boolean; in: (string | null)[] }[];
  /** What requests like this one mostly call next. */
  cluster: { tool: string | null; share: number }[];
  /** The cosine to the nearest cluster of demonstrations; null without any. */
  similarity: number | null;
}

/** What JSON holds. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One argument of a call. */
export interface Argument {
  value: Json;
  /** Words of the request; one of the schema's choices, or a Boolean; what an earlier call gave, "$out_1" where nobody told that;
   * an earlier call's argument of that name; the schema's default. */
  source: "rule" | "choice" | "output" | "earlier" | "default";
  /** Where its words stand: `task.query.slice(...span)`; null where it is not from there. */
  span: [begin: number, end: number] | null;
  /** The share of such values that are right. */
  confidence: number;
  /** Others that may be meant, the likeliest first. */
  alternatives: Json[];
}

export interface Arguments {
  /** By name, in the schema's order, those first that a call must have. */
  given: Record<string, Argument>;
  /** A question for each that a call must have and nobody said, or whose value is likelier wrong than right. */
  missing: Record<string, string>;
}

export interface ArgumentsOptions {
  /** What "tomorrow" is counted from; without it such days have no date. */
  now?: Date;
  /** What the bundle has for arguments is left aside. */
  rulesAlone?: boolean;
}

export type Source = "accepted" | "corrected" | "demonstration";

export interface Plan {
  id: number;
  /** null where no words were kept. */
  query: string | null;
  calls: string[];
  source: Source;
  learnedAt: Date;
}

export interface Report {
  /** Plans, in all. */
  stored: number;
  /** false while what was learned does worse than the bundle alone, and is left aside. */
  used: boolean;
  /** Nats a plan over the bundle. */
  gain: number;
  bytes: number;
}

export type Forgotten = { query: string } | { tool: string } | { id: number } | { everything: true };

export interface TaskOptions {
  /** The only ones that may be chosen. */
  tools?: readonly string[];
  /** Where a conversation goes on: the calls of each turn before, oldest first. */
  earlier?: readonly (readonly string[])[];
  /** Whose knowledge decides, too, and grows by `task.learn()`. */
  learner?: Learner;
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
  /** One request of a user, at most 20,000 characters. */
  task(query: string, options?: TaskOptions): Task;
  /** What is learned here; goes on from the bytes that `learner.bytes()` gave. */
  learner(kept?: Uint8Array | ArrayBuffer | null): Learner;
  /** "auto" goes by demonstrations where the words are like one of them, and else as "hybrid", by the tools' own words;
   * "description" goes by the cosine alone. */
  search(query: string, options?: { k?: number; strategy?: "auto" | "hybrid" | "description"; learner?: Learner }): Hit[];
  free(): void;
}

/** One request, step by step. */
export class Task {
  next(options?: NextOptions): Decision;
  /** Of the last `next()`, the most probable first; 10 unless told. Behind a call and in a fork `next()` comes first. */
  candidates(k?: number): Candidate[];
  /** Those of them that hold what is right in a share `coverage` of decisions, 0.9 unless told. */
  conformal(coverage?: number): Candidate[];
  /** Why the last `next()` came out so, of 1 to 3 candidates, the most probable unless told. */
  explain(compared?: readonly (string | null)[]): Explanation;
  /** Words for wishes that no call is for yet. */
  leftAside(): string[];
  /** Learns that the calls made so far, and no more, solve the request; of a task that began with a learner. */
  learn(options?: { source?: Source; words?: boolean }): Report & { id: number };
  /** The words. */
  readonly query: string;
  /** What a call of `tool`, of the one that `next()` decided unless told, is given. */
  arguments(tool?: string | null, options?: ArgumentsOptions): Arguments;
  /** It was called; strangers' tools count, too, so any name may be given. What it was given and what it gave are read for
   * later calls. */
  call(tool: string, given?: { [name: string]: unknown }, result?: unknown): void;
  failed(tool: string): void;
  retry(tool: string): void;
  undo(): void;
  fork(): Task;
  end(): void;
}

/** What is learned on this device. */
export class Learner {
  readonly model: Model;
  task(query: string, options?: Omit<TaskOptions, "learner">): Task;
  report(): Report;
  /** All that are stored, in no order. */
  plans(): Plan[];
  /** Forgets plans and all that they taught; how many there were. */
  forget(what: Forgotten): number;
  /** All that was learned, for you to keep: an overlay, which Python reads, too. */
  bytes(): Uint8Array;
  copy(): Learner;
  close(): void;
}
