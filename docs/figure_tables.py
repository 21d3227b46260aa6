"""The tables that docs/figures.py writes into pages, and README's claims with what proves each. Reads no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Results = Mapping[str, Any]
Table = tuple[Callable[[Results], str], Sequence[str]]
"""What draws a table, and the names of the results that it is given, where they are there."""
SYSTEMS = {
    "edgeret select": "**edgeret, decision** (learned from demonstrations)",
    "edgeret search": "edgeret, tool search (tools alone)",
    "sentence-transformers": "sentence-transformers {}, torch",
    "sentence-transformers-onnx": "sentence-transformers {}, ONNX",
}
METHODS = {
    "dr": "what followed the last tool (ToolNet), `dr`",
    "prior": "the tools' own words, `prior`",
    "dtdr-c": "DTDR-C with back-off, `dtdr-c`",
    "dtdr-l-factored": "DTDR-L factored, `dtdr-l-factored`",
    "fused": "**fused**",
}
SNIPPETS = "`pytest tests/test_snippets.py -k README`"
SEARCHED = {"one": "ToolE, one tool", "two": "ToolE, two tools", "ultratool": "UltraTool", "desktop": "desktop"}
CLAIMS: Sequence[tuple[str, str]] = (
    ("on the device and in milliseconds", "`edgeret-bench latency bundle --queries requests.jsonl`"),
    ("With nothing built, three lines decide", SNIPPETS),
    ("It takes minutes, and fetches the encoder once", "`make demo`"),
    (
        "The answer: `find_file`, `convert_to_pdf`, `get_contact_email`, `send_mail`",
        "`pytest tests/test_snippets.py -k README`",
    ),
    ("The default encoder understands English only", "`pytest tests/encoders/test_languages.py`"),
    ("Every command has `--json`", "`edgeret COMMAND --help`, [all of them](cli.md)"),
    ('says "nothing fits"', "`edgeret-bench lab cascade …`, below"),
    ("Learns on the device", "`edgeret-bench stream bundle --stream D --test D2`"),
    ("come and go", "`pytest tests/runtime/test_tool_changes.py`"),
    ("Reads arguments", "`edgeret-bench arguments bundle --demos requests.jsonl`"),
    ("no telemetry, no network but an endpoint that you name", "`pytest tests/test_telemetry.py`"),
    ("bundles hold no code", "`edgeret verify bundle`, `make fuzz`"),
    ("With edgeret (7.8 MB packed, 10 unpacked) come numpy and msgpack", "`pytest tests/test_distributions.py`"),
    ("A default bundle has 36 MB, a tiny one 8", "`edgeret inspect bundle`"),
    ("44 tools, int8", "`make figures`"),
    ("Apache-2.0, as is the default encoder", "`edgeret inspect bundle`"),
)
"""Words of README, and the command that proves them."""


def drawn(header: Sequence[str], rows: Sequence[Sequence[Any]], places: int = 3, best: bool = True) -> str:
    """A table, its numbers with so many places; the best of a column is bold: the lowest where its head ends in ms."""
    lines = [list(header), ["---"] * len(header)]
    for row in rows:
        lines.append([])
        for head, value, column in zip(header, row, zip(*rows, strict=True), strict=True):
            numbers = [one for one in column if isinstance(one, float)]
            ms = head.endswith("ms")
            text = f"{value:.{2 if ms else places}f}" if isinstance(value, float) else str(value)
            is_best = best and isinstance(value, float) and value == (min if ms else max)(numbers)
            lines[-1].append(f"**{text}**" if is_best else text)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def first_function(known: Results, short: bool = False) -> str:
    """Which function first: ours and other people's search."""
    header = ("which function first (100 requests that a tool fits)", "right at once", "nDCG@5", "p50 ms", "p99 ms")
    rows = []
    for name, of in known["peers"]["systems"].items():
        version = of.get("version") or ""
        said = SYSTEMS.get(name, f"{name} {version}").format(version)
        rows.append([said, of["accuracy"]["top1"], of["accuracy"]["ndcg@5"], of["ms"]["p50"], of["ms"]["p99"]])
    rows.sort(key=lambda row: (-row[1], row[3]))
    return drawn(header[:4], [row[:4] for row in rows]) if short else drawn(header, rows)


def next_function(known: Results) -> str:
    """Which function next, by each of what a bundle holds."""
    of = known["next-tool"]["methods"]
    rows = [[said, *(of[name][key] for key in ("top1", "mrr", "recall@5"))] for name, said in METHODS.items()]
    return drawn(("method", "top-1", "MRR", "recall@5"), rows)


def profiles(known: Results) -> str:
    """With the encoder, and without."""
    result, rows = known["cascade"], []
    for name, said in (("tiny", "`tiny`"), ("default", "**`default`**"), ("full", "`full`")):
        of = result["profiles"][name]
        declined = round(of["declined_when_none_fits"] * result["n_without_tool"])
        without = of["first_stages"].get("static", 0.0)
        rows.append([said, of["top1"], declined, f"{100 * without:.0f} %"])
    header = ("profile", "top-1", f"declined of {result['n_without_tool']}", "first decisions without the encoder")
    return drawn(header, rows)


def tuned(known: Results) -> str:
    """Search by description and by all that tools say: the plain encoder, and the one tuned for tools; of the sets that
    were searched with both, with the number of requests in each."""
    sets = [name for name in SEARCHED if {f"search-{name}", f"search-{name}-tools"} <= known.keys()]
    rows = []
    for method, said in (("dense", "`description`"), ("clauses", "`clauses`"), ("hybrid", "`hybrid`")):
        cells = []
        for name in sets:
            plain, other = (known[f"search-{name}{end}"]["methods"][method]["ndcg@5"] for end in ("", "-tools"))
            cells.append(f"{plain:.3f} → {other:.3f}")
        rows.append([said, *cells])
    heads = [f"{SEARCHED[name]} ({known[f'search-{name}']['n_queries']:,})" for name in sets]
    return drawn(("nDCG@5, plain → tuned", *heads), rows)


def mcp(known: Results) -> str:
    """What is found for requests to MCP servers, with each base that was measured."""
    rows = []
    for name, base in (("mcp", "the base that comes along"), ("mcp-tools", "`all-minilm-l6-v2-tools`")):
        for way, said in (("", "the user's words"), ("queries", "lines"), ("both", "both")) if name in known else ():
            of = known[name][way] if way else known[name]
            lost = f"{100 * of['lost']:.0f} % / {100 * of['declined']:.0f} %"
            rows.append([base, said, *(of[key] for key in ("hit@1", "hit@3", "hit@5", "mrr")), lost])
    header = ("base", "searched for", "first", "first three", "first five", "MRR", "nothing fits: requests / sayings")
    return drawn(header, rows, 2)


def claims(_: Results) -> str:
    """README's claims."""
    return "\n".join(
        ("| README says | proved by |", "|---|---|", *(f"| {said} | {command} |" for said, command in CLAIMS))
    )


TABLES: Mapping[str, Table] = {
    "first": (first_function, ("peers",)),
    "first-short": (lambda known: first_function(known, short=True), ("peers",)),
    "next": (next_function, ("next-tool",)),
    "profiles": (profiles, ("cascade",)),
    "tuned": (
        tuned,
        [f"search-{of}{tools}" for of in ("one", "two", "ultratool", "desktop") for tools in ("", "-tools")],
    ),
    "mcp": (mcp, ("mcp", "mcp-tools")),
    "claims": (claims, ()),
}
