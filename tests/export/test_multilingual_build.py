"""A multilingual encoder from its card to decisions: exported, cut, its vectors kept in bytes, asked in several
languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from xlmr_samples import WIDTH, card_of, save_xlmr

import edgeret
from edgeret.bundle.reader import open_bundle, verify_bundle
from edgeret.cli import commands as cli
from edgeret.errors import LanguageWarning
from edgeret_export import build as building
from edgeret_export import cli as export_cli
from edgeret_export.build import build_bundle
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import components_of
from tests.conftest import TOOLS, make_demonstrations


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card, and a cache of the test's own."""
    from sentence_transformers.sentence_transformer.modules import Normalize

    folder = tmp_path_factory.mktemp("cards")
    return card_of(save_xlmr(folder / "small", Normalize()), languages='["de", "en", "fr", "zh"]').origin


@pytest.fixture(autouse=True)
def cache(card: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(card.parent / "cache"))


def write_tools(folder: Path) -> Path:
    file = folder / "tools.jsonl"
    lines = [json.dumps({"name": tool.name, "description": tool.description}) for tool in TOOLS]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert export_cli.main(list(map(str, arguments))) == code
    return capsys.readouterr()


def test_a_build_of_a_multilingual_encoder_decides_in_its_languages(
    card: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, tools = tmp_path / "bundle", write_tools(tmp_path)
    options = ["--precision", "fp32", "--profile", "full", "--dimension", 16, "--index-vectors", "int8"]
    run(capsys, "build", "--tools", tools, "--encoder", card, "-o", target, *options)
    verify_bundle(target)
    bundle = open_bundle(target)
    spec = bundle.manifest.info["encoder"]["spec"]
    assert (spec["dimension"], spec["query_prefix"], spec["tool_prefix"]) == (16, "query: ", "passage: ")
    assert bundle.map("index")["vectors"]["dtype"] == "|i1"
    runtime = edgeret.load(target)
    for query in ("send a mail", "schicke eine Mail", "打开文件", "envoie un courriel"):
        assert len(runtime.search(query, 3)) == 3
        task = runtime.task(query)
        task.next()
    with pytest.warns(LanguageWarning, match=r"a query in Greek script, which its encoder was not trained on \(de, en"):
        runtime.task("άνοιξε το αρχείο")
    vectors = components_of(runtime).index.vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert cli.main(["inspect", str(target)]) == 0
    assert "speaks   de, en, fr, zh\n" in capsys.readouterr().out
    assert cli.main(["doctor", str(target)]) == 0


def test_a_large_vocabulary_has_no_table_beside_it(
    card: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from edgeret_export.sources.cards import find_card

    monkeypatch.setattr(building, "MOST_TOKENS", 10)
    recipe = Recipe(precision="fp32", profile="default")
    build_bundle(TOOLS, make_demonstrations(), tmp_path / "bundle", find_card(str(card)), recipe)
    assert re.search(r"token vectors: left out, since \d+ would each be read; --profile tiny", capsys.readouterr().err)
    assert open_bundle(tmp_path / "bundle").part("static") is None


@pytest.mark.parametrize("dimension", [0, WIDTH + 1, -3])
def test_a_dimension_that_there_is_not_is_refused(
    card: Path, tmp_path: Path, dimension: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(
        capsys, "build", "--tools", write_tools(tmp_path), "--encoder", card, "-o", tmp_path / "bundle",
        f"--dimension={dimension}", code=2,
    )  # fmt: skip
    assert f"--dimension must be from 1 to {WIDTH} with 'small', found {dimension}" in found[1]


def test_demonstrations_in_a_strange_script_are_warned_of(
    card: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demos = tmp_path / "demos.jsonl"
    calls = [{"tool": TOOLS[0].name}]
    lines = [
        json.dumps({"id": str(i), "query": query, "calls": calls})
        for i, query in enumerate(("найди файл", "find a file"))
    ]
    demos.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _, err = run(
        capsys, "build", "--tools", write_tools(tmp_path), "--demos", demos, "--encoder", card, "-o",
        tmp_path / "bundle", "--planner", "nobody", code=2,
    )  # fmt: skip
    assert "no model card 'nobody'" in err
    _, err = run(
        capsys, "build", "--tools", write_tools(tmp_path), "--demos", demos, "--encoder", card, "-o",
        tmp_path / "bundle", "--dimension=12", "--profile=full", "--precision=fp32",
    )  # fmt: skip
    assert "warning: 1 of 2 demonstrations are in Cyrillic script or others that small was not trained on" in err
