// The page's own part, behind the library's sources. `?q=words` in the address asks at once.
{
  const at = (id) => document.getElementById(id), words = at("words"), held = JSON.parse(at("held").textContent);
  let model, calls = [];

  async function unpacked(text) {
    const packed = new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))]);
    return new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  }

  function element(name, text, options = {}) {
    return Object.assign(document.createElement(name), { textContent: text, ...options });
  }

  function shown(value) {
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  function showCandidates(task) {
    for (const { tool, probability } of task.candidates(6)) {
      const row = element("li", `${probability.toFixed(3)} ${tool ?? "(nothing)"} `);
      row.style.setProperty("--share", probability);
      if (tool !== null) row.append(element("button", "call", { onclick: () => called(tool) }));
      at("candidates").append(row);
    }
  }

  /** The request with the words of values underlined, and what they are. */
  function showArguments(task, tool) {
    const { given, missing } = task.arguments(tool, { now: new Date() }), all = Object.entries(given);
    const spans = all.filter(([, one]) => one.span).sort(([, a], [, b]) => a.span[0] - b.span[0]);
    let end = 0;
    for (const [name, { value, span: [from, to] }] of spans) {
      if (from < end) continue;
      at("request").append(task.query.slice(end, from), element("u", task.query.slice(from, to), { title: `${name}: ${shown(value)}` }));
      end = to;
    }
    if (spans.length) at("request").append(task.query.slice(end));
    at("given").hidden = !all.length;
    for (const [name, { value, source, confidence }] of all) {
      const row = at("given").tBodies[0].insertRow();
      for (const cell of [name, shown(value), source, confidence.toFixed(2)]) row.append(element("td", cell, { className: "text" }));
    }
    at("missing").textContent = Object.values(missing).map((question) => `Ask: ${question}`).join("\n");
  }

  function why({ compared, votes, near, words: said }) {
    const parts = votes.filter((vote) => vote.within === null && vote.weight && vote.pull > 0).sort((a, b) => b.pull - a.pull);
    const shared = said.filter((one) => compared[0] !== null && one.in.includes(compared[0])).map((one) => one.word);
    const like = near.find((one) => one.query !== null);
    return [
      parts.length && `for ${compared[0] ?? "nothing"}: ${parts.map((vote) => `${vote.part} +${vote.pull.toFixed(1)}`).join(", ")}`,
      shared.length && `words: ${shared.join(", ")}`, like && `like “${like.query}” → ${like.calls.join(", ") || "nothing"}`,
    ].filter(Boolean).join(" · ");
  }

  function decide() {
    for (const id of ["said", "candidates", "request", "missing", "why"]) at(id).replaceChildren();
    at("given").tBodies[0].replaceChildren();
    at("given").hidden = true;
    at("calls").textContent = calls.length ? `called: ${calls.map(([tool, given]) => `${tool}(${JSON.stringify(given)})`).join(", ")}` : "";
    if (!words.value.trim()) return;
    let task;
    try {
      const begun = performance.now();
      task = model.task(words.value);
      for (const [tool, given] of calls) task.call(tool, given);
      const next = task.next(), took = performance.now() - begun;
      at("said").textContent = `${next.tool ?? (next.abstained ? `nothing (${next.reason})` : "nothing more")}, in ${took.toFixed(1)} ms`;
      showCandidates(task);
      if (next.tool !== null) showArguments(task, next.tool);
      at("why").textContent = why(task.explain());
    } catch (error) {
      at("said").textContent = error.message;
    } finally {
      task?.end();
    }
  }

  /** Called with what the request gives it. */
  function called(tool) {
    const task = model.task(words.value);
    try {
      for (const [name, given] of calls) task.call(name, given);
      const { given } = task.arguments(tool, { now: new Date() });
      calls.push([tool, Object.fromEntries(Object.entries(given).map(([name, one]) => [name, one.value]))]);
    } finally {
      task.end();
    }
    decide();
  }

  words.addEventListener("input", () => { calls = []; decide(); });
  try {
    const library = await Library.start(unpacked(held.library)), files = new Map();
    for (const [name, content] of Object.entries(held.files)) files.set(name, await unpacked(content));
    model = await Model.from(files, { library, profile: held.tiny ? "tiny" : "default" });
    words.disabled = false;
    words.placeholder = "";
    words.value = new URLSearchParams(location.search).get("q") ?? "";
    decide();
  } catch (error) {
    at("said").textContent = error.message;
  }
}
