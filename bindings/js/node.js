/** edgeret in Node: a bundle from a folder. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { EdgeretError, Library, Model } from "./edgeret.js";

export { EdgeretError, Learner, Library, Model, Task } from "./edgeret.js";

/** Loads the bundle in a folder. Options as those of `Model.from`. */
export async function load(folder, options = {}) {
  if (typeof folder !== "string") throw new EdgeretError(`expected the path of a folder, found ${typeof folder}`, 1);
  if (options === null || typeof options !== "object") throw new EdgeretError("expected options behind the folder", 1);
  const read = async (name) => {
    try {
      return new Uint8Array(await readFile(join(folder, name)));
    } catch (error) {
      throw new EdgeretError(`${join(folder, name)}: cannot be read (${error.code}); give the folder of a bundle`, 3);
    }
  };
  const library = await Library.of(options.library), manifest = await read("manifest");
  const files = new Map([["manifest", manifest]]);
  for (const name of library.list(manifest, options.profile === "tiny")) files.set(name, await read(name));
  return Model.from(files, options);
}
