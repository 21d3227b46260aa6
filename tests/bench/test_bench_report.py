"""Reports of stamped results: the same figures in HTML, Markdown and CSV; the page works alone, and in a browser."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from bench_cli import printed as printed_json
from bench_cli import refused, run, write_demonstrations, write_queries
from bench_samples import few_result, search_result, stream_result
from conftest import make_demonstrations

from edgeret.errors import InputError
from edgeret_bench.results.files import KINDS, read_result, write_result
from edgeret_bench.results.headline import warnings
from edgeret_bench.results.methods import METHODS
from edgeret_bench.results.report import write_report
from edgeret_bench.results.tables import measured, tables
from edgeret_bench.results.writing import printed
from edgeret_bench.speed import latency, scaling, sweeps

FIGURES = {"next-tool": 4, "plan": 3, "few": 1, "stream": 3, "latency": 6, "scaling": 3}
MARK = "document.documentElement.dataset.pwned=1"
HOSTILE = f'</script><script>{MARK}</script><img src=x onerror="{MARK}">|&amp;'
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
SORT = """<script>
const sorted = [];
document.querySelectorAll('table').forEach(table => table.tHead.rows[0].querySelectorAll('th').forEach((head, i) => {
  const values = () => [...table.tBodies[0].rows].map(row => row.cells[i].dataset.value).map(Number);
  if (values().some(Number.isNaN)) return;
  const rising = (a, b) => a - b, before = values(), same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  head.click();
  sorted.push(head.getAttribute('aria-sort') === 'ascending' && same(values(), [...before].sort(rising)));
  head.click();
  sorted.push(head.getAttribute('aria-sort') === 'descending' && same(values(), [...before].sort(rising).reverse()));
}));
document.documentElement.dataset.sorted = sorted.length + ' ' + sorted.every(Boolean);
</script>"""


class Page(HTMLParser):
    """The elements of a page, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        within = self.elements[-1][0] if self.elements else ""
        (self.scripts if within == "script" else self.text).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


@pytest.fixture(scope="module")
def files(tiny_original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Result files of the tiny bundle, by kind."""
    folder = tmp_path_factory.mktemp("results")
    demos = write_demonstrations(folder / "demos.jsonl", make_demonstrations(2))
    queries = write_queries(folder / "queries.jsonl", ["find my file", "play my song", "write a note"])
    made = {kind: folder / f"{kind}.json" for kind in ("next-tool", "plan", "latency", "scaling")}
    short = ["--min-queries", "12", "--min-seconds", "0"]
    swept = ["--threads", "2", "--sweep-threads", "--batches", "1,3", "--sweep-providers", "cpu,nowhere"]
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            *((latency, name, 1) for name in ("COLD_RUNS", "WARMUP")),
            *((sweeps, name, 8) for name in ("QUERIES", "BLOCK")),
            (sweeps, "SLICE_SECONDS", 0.02),
            (scaling, "QUERIES", 8),
            *((scaling, name, (6, 12)) for name in ("LEARNED", "HISTORIES")),
        ):
            patch.setattr(module, name, value)
        run("next-tool", tiny_original, "--demos", demos, "--methods", "dr,fused,similarity", "-o", made["next-tool"])
        run("plan", tiny_original, "--demos", demos, "--plans", 3, "-o", made["plan"])
        options = [*short, *swept, "--sustained", "0.05", "-o", made["latency"]]
        run("latency", tiny_original, "--queries", queries, *options)
        run("lab", "scaling", "--sizes", "10,20", "-o", made["scaling"])
    for result in (few_result(), stream_result()):
        made[result["kind"]] = folder / f"{result['kind']}.json"
        write_result(made[result["kind"]], result)
    return made


@pytest.fixture(scope="module")
def hostile(files: dict[str, Path]) -> list[tuple[str, dict[str, Any]]]:
    """Results whose file, bundle, methods and stages have names that try to get out of where they are put."""
    found = []
    for file in files.values():
        text = file.read_text()
        for plain in ('"fused"', '"cpu"', '"auto"'):
            text = text.replace(f"{plain}:", f"{json.dumps(HOSTILE)}:")
        result = json.loads(text)
        if result["kind"] == "latency":
            result["stages"][HOSTILE] = result["stages"]["encode"]
            result["samples"]["series"][HOSTILE] = result["samples"]["series"]["encode"]
        result["bundle"] = HOSTILE
        result["command"] = ["edgeret-bench", HOSTILE]
        result["environment"]["versions"][HOSTILE] = HOSTILE
        found.append((HOSTILE, result))
    return found


def test_every_kind_is_drawn_and_tabulated(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path
) -> None:
    for kind, file in files.items():
        found = printed_json(capsys, "report", file, "-o", tmp_path / "one.html")
        expected = FIGURES[kind] - (kind == "plan") + (kind == "latency")  # no planner, so no prompts were measured
        assert found["figures"] == expected, kind
        assert found["tables"] == len(tables(kind, read_result(file)))
    together = printed_json(capsys, "report", *files.values(), "-o", tmp_path / "deep" / "all.html")
    assert together["results"] == len(files)
    assert Path(together["report"]).exists()
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["all.html"]


@pytest.fixture(scope="module")
def page(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "report.html"
    run("report", *files.values(), "-o", target)
    return target


def check_alone(text: str) -> Page:
    """The page, which loads nothing and has the three scripts that we wrote and no more."""
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "source"), tag
        assert not any(name.startswith("on") for name in attributes), attributes
        for name in ("src", "srcset", "data", "action"):
            assert name not in attributes, attributes
        assert (attributes.get("href") or "#").startswith("#"), attributes
    style = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert "@import" not in style
    assert "url(" not in style
    assert page.count("script") == 3
    return page


def test_the_page_loads_nothing(page: Path) -> None:
    found = check_alone(page.read_text(encoding="utf-8"))
    drawings = json.loads(found.scripts[0])
    plots = [attributes["id"] for tag, attributes in found.elements if attributes.get("class") == "plot"]
    assert plots == [f"plot{i}" for i in range(len(drawings))]
    assert found.count("table") > 10
    names = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    targets = {str(a["href"])[1:] for _, a in found.elements if "href" in a}
    assert targets <= names


def test_cells_carry_what_they_are_sorted_by(page: Path, files: dict[str, Path]) -> None:
    text = page.read_text(encoding="utf-8")
    top1 = read_result(files["next-tool"])["methods"]["fused"]["top1"]
    assert f'<td class="text">fused</td><td data-value="{top1!r}">{top1:.4f}</td>' in text
    values = re.findall(r'<td data-value="([^"]*)">', text)
    assert len(values) > 100
    assert all(float(value) == float(value) for value in values)
    assert not re.search(r"<td>", text)


def test_names_cannot_leave_their_place(hostile: list[tuple[str, dict[str, Any]]], tmp_path: Path) -> None:
    found = write_report(hostile, tmp_path / "hostile.html")
    text = (tmp_path / "hostile.html").read_text(encoding="utf-8")
    page = check_alone(text)
    assert found["figures"] == len(json.loads(page.scripts[0]))
    drawn = [trace.get("name") for drawing in json.loads(page.scripts[0]) for trace in drawing["data"]]
    assert drawn.count(HOSTILE) >= 3
    assert HOSTILE in " ".join(page.text)
    assert f"<script>{MARK}" not in text


def browse(file: Path, profile: Path) -> dict[str, str]:
    """The data that the page's scripts left on its root element."""
    if CHROMIUM is None:
        pytest.skip("neither chromium nor google-chrome is on the PATH")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    command = [CHROMIUM, *options, f"--user-data-dir={profile}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    root = re.search(r"<html[^>]*>", done.stdout)
    assert root is not None, done.stderr
    return {str(name): str(value) for name, value in re.findall(r'data-(\w+)="([^"]*)"', root.group())}


def test_a_browser_draws_all_figures_and_sorts_every_column_of_numbers(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    probed = tmp_path / "probed.html"
    probed.write_text(text.replace("</body>", f"{SORT}</body>"), encoding="utf-8")
    found = browse(probed, tmp_path / "profile")
    assert found["drawn"] == str(len(json.loads(Page(text).scripts[0])))
    assert "errors" not in found
    columns, right = found["sorted"].split()
    assert int(columns) > 50
    assert right == "true"


def test_a_browser_runs_nothing_that_hides_in_names(hostile: list[tuple[str, dict[str, Any]]], tmp_path: Path) -> None:
    fewer = [(name, result) for name, result in hostile if result["kind"] in ("next-tool", "plan", "latency")]
    made = write_report(fewer, tmp_path / "hostile.html")
    assert browse(tmp_path / "hostile.html", tmp_path / "profile") == {"drawn": str(made["figures"])}


def test_markdown_has_every_table(files: dict[str, Path], tmp_path: Path) -> None:
    run("report", *files.values(), "-o", tmp_path / "r.md")
    lines = (tmp_path / "r.md").read_text(encoding="utf-8").splitlines()
    expected = [table.title for file in files.values() for table in tables(file.stem, read_result(file))]
    titles = [line[3:] for line in lines if line.startswith("## ")]
    assert titles == ["in short", "what the methods are", *expected]
    rows = sum(len(table.rows) for file in files.values() for table in tables(file.stem, read_result(file)))
    assert sum(line.startswith("|") for line in lines) > rows + 2 * len(titles)
    assert any(line.startswith("| fused | ") for line in lines)
    assert lines[lines.index("## next-tool: top-1 by calls of the plan") + 2] == "| method | 0 | 1 | 2 |"


def test_a_busy_machine_is_written_below_its_times(files: dict[str, Path], tmp_path: Path) -> None:
    result = read_result(files["latency"])
    for load, expected in (({"others": 0.34, "stolen": 0.1}, True), ({"others": None, "stolen": None}, False)):
        write_result(tmp_path / "r.json", {**result, "other_load": load})
        run("report", tmp_path / "r.json", "-o", tmp_path / "r.md")
        assert ("other programs took 34% of the CPU" in (tmp_path / "r.md").read_text()) == expected


def test_csv_has_every_figure_in_full(files: dict[str, Path], tmp_path: Path) -> None:
    run("report", files["next-tool"], files["latency"], "-o", tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["table", "row", "column", "value"]
    found = {(r["table"], r["row"], r["column"]): r["value"] for r in rows}
    result = read_result(files["next-tool"])
    for name, metrics in result["methods"].items():
        for metric, value in metrics.items():
            assert float(found["next-tool: accuracy by method", name, metric]) == value
    encode = read_result(files["latency"])["stages"]["encode"]
    assert float(found["latency: milliseconds", "encode", "p99"]) == encode["p99"]
    assert found["latency: where and how", "measured", "value"] == read_result(files["latency"])["created"]


def test_hostile_names_break_neither_markdown_nor_csv(
    hostile: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    for ending in (".md", ".csv"):
        write_report(hostile, tmp_path / f"r{ending}")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as stream:
        assert HOSTILE in {row["row"] for row in csv.DictReader(stream)}
    table = [line for line in (tmp_path / "r.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert f"| {HOSTILE.replace('|', chr(92) + '|')} |" in "\n".join(table)


def test_a_result_without_samples_has_fewer_figures(files: dict[str, Path], tmp_path: Path) -> None:
    result = read_result(files["latency"])
    kept = write_report([("a", result)], tmp_path / "a.html")["figures"]
    result.pop("samples")
    assert write_report([("a", result)], tmp_path / "a.html")["figures"] == kept - 2


def test_results_of_kinds_that_take_long_or_need_more_are_reported_too(files: dict[str, Path], tmp_path: Path) -> None:
    base = read_result(files["scaling"])
    quantiles = {"p50": 1.0, "p90": 2.0, "p99": 3.0, "max": 4.0, "n": 9}
    systems = {"edgeret search": {"accuracy": {"ndcg@5": 0.5}, "ms": quantiles, "build_ms": None, "version": "1"}}
    systems["edgeret search"]["times_first_select"] = 1.0
    peers = {
        **base,
        **dict.fromkeys(("n_queries", "n_tools", "n_without_tool", "n_timed", "k", "threads"), 9),
        "kind": "peers",
        "systems": systems,
        "encoder": {"card": "tiny", "precision": "int8"},
        "peers_model": "tiny",
        "unavailable": {"other": "is not installed"},
    }
    retrieval = search_result({"bm25": (0.5, 0.2), "dense": (0.6, 3.0)}, "toole-multi")
    spread = {"mean": 1.75, "std": 0.8}
    stats = {**base, **dict.fromkeys(("n_plans", "n_tools", "n_tools_called", "n_chains"), 3), "kind": "stats"}
    stats |= dict.fromkeys(("calls_per_plan", "dependencies_per_plan", "links_per_plan"), spread)
    stats["plans_by_length"] = {"1": 2, "2": 1}
    found = write_report([("p", peers), ("r", retrieval), ("s", stats)], tmp_path / "r.html")
    assert (found["figures"], found["tables"]) == (4, 8)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "no other: is not installed" in text
    check_alone(text)
    alone = write_report([("s", stats)], tmp_path / "s.html")
    assert alone["figures"] == 0
    check_alone((tmp_path / "s.html").read_text(encoding="utf-8"))


def test_a_browser_sorts_what_was_measured_and_what_is_reported_each_for_itself(tmp_path: Path) -> None:
    result = search_result({"bm25": (0.9, 0.2), "dense": (0.1, 3.0)}, "toole-multi")
    write_report([("r", result)], tmp_path / "r.html")
    click = "<script>document.querySelector('table.figures th:nth-child(3)').click();" + (
        "document.documentElement.dataset.bodies = [...document.querySelector('table.figures').tBodies].map(body => "
        "[...body.rows].map(row => row.cells[2].textContent).join(' ')).join('; ')</script></body>"
    )
    probed = tmp_path / "probed.html"
    probed.write_text((tmp_path / "r.html").read_text(encoding="utf-8").replace("</body>", click), encoding="utf-8")
    own, papers = browse(probed, tmp_path / "profile")["bodies"].split("; ")
    assert own == "0.1000 0.9000"
    assert papers.split() == sorted(papers.split()) and len(papers.split()) == 7


def test_other_endings_are_refused(capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("r.pdf", "r", "r.html.gz", ".html"):
        line = refused(capsys, "report", files["scaling"], "-o", tmp_path / name)
        assert "a report ends in one of .html, .md, .csv" in line
    assert not list(tmp_path.iterdir())


def test_what_is_no_result_is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("{")
    target = tmp_path / "r.html"
    assert "broken.json: not JSON" in refused(
        capsys, "report", files["scaling"], tmp_path / "broken.json", "-o", target
    )
    assert "gone.json: cannot be read" in refused(capsys, "report", tmp_path / "gone.json", "-o", target)
    refused(capsys, "report", "-o", target)
    assert not target.exists()


def test_a_place_that_cannot_be_written_is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "folder.md", tmp_path / "file" / "r.md"):
        assert "cannot be written" in refused(capsys, "report", files["scaling"], "-o", place)


def test_nothing_half_written_is_left(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_report([("a", read_result(files["scaling"]))], tmp_path / "folder.md")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.md"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_a_result_that_lacks_its_figures_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, ending: str
) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"schema": "edgeret-result/1", "kind": kind}))
    error = refused(capsys, "report", tmp_path / "r.json", "-o", tmp_path / f"r{ending}")
    assert "measure it again" in error


def test_the_terminal_shows_the_tables_of_the_report(files: dict[str, Path]) -> None:
    for kind, file in files.items():
        result = read_result(file)
        text = printed(result)
        for table in measured(result):
            assert table.title in text or len(measured(result)) == 1, kind
            assert all(line in text for line in table.note.splitlines())


def test_the_report_opens_with_its_headline_and_says_what_the_methods_are(page: Path, files: dict[str, Path]) -> None:
    text = page.read_text(encoding="utf-8")
    top1 = read_result(files["next-tool"])["methods"]["fused"]["top1"]
    assert f"<dt>top-1, fused</dt><dd>{top1:.3g}" in text.replace(f"{top1:.3f}", f"{top1:.3g}")
    for what in ("first decision p50, ms", "further decision p50, ms", "cold start to first answer, ms", "bundle, MB"):
        assert text.index(f"<dt>{what}</dt>") < text.index('<div class="plot"')
    for name in ("dr", "fused", "similarity", "heads"):
        assert f'<td class="text">{name}</td><td class="text">{METHODS[name].replace(chr(39), "&#39;")}</td>' in text
    assert ">hybrid</td>" not in text  # it is in none of the results


def test_a_busy_machine_is_a_warning_and_an_idle_one_is_not(files: dict[str, Path], tmp_path: Path) -> None:
    result = read_result(files["latency"])
    for others, expected in ((0.34, True), (0.02, False), (None, False)):
        now = {**result, "other_load": {"others": others, "stolen": None if others is None else 0.0}}
        assert bool(warnings([("now", now)])) == expected
        write_report([("now", now)], tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert ('<p class="warning">now: other programs took 34% of the CPU' in text) == expected


def test_on_the_page_no_text_stands_beside_points_where_it_could_be_cut(page: Path) -> None:
    drawings = json.loads(Page(page.read_text(encoding="utf-8")).scripts[0])
    assert not any("text" in str(trace.get("mode", "")) for drawing in drawings for trace in drawing["data"])


def test_without_jinja2_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "requires edgeret-bench" in refused(capsys, "report", files["scaling"], "-o", tmp_path / "r.html")
    run("report", files["scaling"], "-o", tmp_path / "r.md")
