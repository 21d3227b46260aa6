import { LoadOptions, Model } from "./edgeret.js";

export * from "./edgeret.js";

/** Loads the bundle in a folder. */
export function load(folder: string, options?: LoadOptions): Promise<Model>;
