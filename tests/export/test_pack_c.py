"""A bundle as constant arrays of C: what a compiler makes of them is the bundle, and firmware decides by them."""

from __future__ import annotations

import ctypes as c
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import edgeret
from edgeret.bundle.reader import read_manifest
from edgeret.errors import BundleError, InputError
from edgeret_export import cli
from edgeret_export.pack import ROW, pack_bundle
from edgeret_export.writer import writing
from tests.core.binding import Core, LoadOptions, Model, Text

ROOT = Path(__file__).parents[2]
CORTEX_M = ROOT / "examples" / "c" / "cortex-m"
QUERIES = ("find my file and send a mail", "play my song", "open calendar day")
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
BOARDS = {"m7": "mps2-an500", "m55": "mps3-an547"}


class File(c.Structure):
    _fields_ = (("name", Text), ("bytes", c.c_void_p), ("length", c.c_size_t))


class Listed(c.Structure):
    _fields_ = (("name", Text), ("size", c.c_uint64))


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def compile_shared(source: Path) -> c.CDLL:
    assert COMPILER is not None
    warned = run(
        *(COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-O0"),
        *("-I", ROOT / "core" / "include", source, "-o", source.with_suffix(".so")),
    )
    assert not warned
    return c.CDLL(str(source.with_suffix(".so")))


def listed_by(core: c.CDLL, bundle: Path) -> dict[str, int]:
    manifest, room, count = (bundle / "manifest").read_bytes(), (Listed * 256)(), c.c_size_t(256)
    Core(core)("er_list", manifest, c.c_size_t(len(manifest)), c.c_int32(1), room, c.byref(count))
    return {str(one.name): one.size for one in room[: count.value]}


@compiled
@pytest.mark.parametrize("kind", ["tiny_table", "tiny_cascade"])
def test_what_is_compiled_is_the_bundle_and_decides_as_python_does(
    kind: str, core: c.CDLL, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    bundle: Path = request.getfixturevalue(kind)
    packed = pack_bundle(bundle, tmp_path / "home_1.c")
    library = compile_shared(packed.path)
    count = c.c_size_t.in_dll(library, "home_1_file_count").value
    files = (File * count).in_dll(library, "home_1_files")
    assert {str(file.name): file.length for file in files} == packed.files
    assert {k: v for k, v in packed.files.items() if k != "manifest"} == listed_by(core, bundle)
    for file in files:
        assert c.string_at(file.bytes, file.length) == (bundle / str(file.name)).read_bytes()
        assert file.bytes % 64 == 0
    options, handle = LoadOptions.in_dll(library, "home_1_options"), c.c_void_p()
    assert str(options.content_hash) == packed.content_hash and options.first_stage_alone == 1
    Core(core)("er_load_files", files, c.c_size_t(count), c.byref(options), c.byref(handle))
    model, runtime = Model(Core(core), handle), edgeret.load(bundle, profile="tiny")
    for query in QUERIES:
        with model.task(query) as task:
            found, wanted = task.next(), runtime.task(query).next()
        assert (found.tool, found.stage) == (wanted.tool, 0)
        assert found.probability == pytest.approx(wanted.probability, abs=2e-6)
    model.close()


@compiled
def test_every_byte_and_every_length_survives(tiny_table: Path, tmp_path: Path) -> None:
    bundle, bytes_of = tmp_path / "bundle", {}
    every = bytes(range(256)) + b'0\x001\x007"\\??=/*\n\r9' + bytes(100) + b"\xff0" * 3
    for size in (0, 1, ROW - 1, ROW, ROW + 1, 3 * ROW):
        bytes_of[f"file-{size}"] = (every * (size // len(every) + 1))[:size]
    rewrite(tiny_table, bundle, bytes_of, "Apache-2.0")
    packed = pack_bundle(bundle, tmp_path / "odd.c")
    library = compile_shared(packed.path)
    found = {str(file.name): file for file in (File * len(packed.files)).in_dll(library, "odd_files")}
    for role, data in zip(EXTRA, bytes_of.values(), strict=True):
        assert c.string_at(found[role].bytes, found[role].length) == data


@compiled
def test_strangers_words_stay_in_their_comment_and_a_header_is_included(tiny_table: Path, tmp_path: Path) -> None:
    rewrite(tiny_table, tmp_path / "bundle", {}, '*/ #error "caught" \\\n??/\n// é')
    packed = pack_bundle(tmp_path / "bundle", tmp_path / "home.h")
    user = tmp_path / "user.c"
    user.write_text(
        '#include "home.h"\nsize_t count(void) { return home_files[0].length + home_options.size + home_file_count; }\n'
    )
    library = compile_shared(user)
    assert library.count() == packed.files["manifest"] + c.sizeof(LoadOptions) + len(packed.files)
    with pytest.raises(ValueError, match="home_files"):
        File.in_dll(library, "home_files")  # nobody else's, so that two can be in one program


def test_bundles_without_a_small_encoder_and_files_that_are_no_c_are_refused(
    tiny: Path, tiny_table: Path, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=r"no table of token vectors in it; build one with: .* --profile tiny"):
        pack_bundle(tiny, tmp_path / "a.c")
    with pytest.raises(InputError, match=r"expected a file that ends with \.c or \.h"):
        pack_bundle(tiny_table, tmp_path / "a.cpp")
    for name in ("2.c", "a-b.c", "a b.c", "ä.c"):
        with pytest.raises(InputError, match="no name in C"):
            pack_bundle(tiny_table, tmp_path / name)
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        pack_bundle(tiny_table, tmp_path / "a.c", content_hash="0" * 64)
    damaged = Path(shutil.copytree(tiny_table, tmp_path / "damaged"))
    (damaged / "head.msgpack").write_bytes(b"x" * (damaged / "head.msgpack").stat().st_size)
    with pytest.raises(BundleError, match="altered"):
        pack_bundle(damaged, tmp_path / "a.c")
    assert list(tmp_path.glob("*.c*")) == []


def test_the_command_tells_what_went_in(tiny_cascade: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pack", str(tiny_cascade), "--target", "c", "-o", str(tmp_path / "home.c")]
    assert cli.main(words) == 0
    assert "home_files, home_file_count, home_options" in capsys.readouterr().out
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == sum(told["files"].values()) and "encoder.onnx" not in told["files"]
    assert told["files"]["manifest"] == (tiny_cascade / "manifest").stat().st_size


@compiled
def test_the_example_answers_on_this_machine(core: c.CDLL, tmp_path: Path) -> None:
    assert "edgeret 0.1.0: 10 tools" in on_this_machine(core, pack_of("few", tmp_path))


@compiled
@pytest.mark.full
@pytest.mark.parametrize(("cpu", "floats"), [("m7", "hard"), ("m7", "soft"), ("m55", "hard")])
def test_the_example_answers_on_a_cortex_m_as_here(core: c.CDLL, cpu: str, floats: str, tmp_path: Path) -> None:
    missing = [name for name in ("arm-none-eabi-gcc", "qemu-system-arm", "make") if not shutil.which(name)]
    if missing:
        pytest.skip(
            f"no {', '.join(missing)} here; Debian has gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm"
        )
    source = pack_of("few", tmp_path)
    options = (f"CPU={cpu}", f"FLOAT={floats}", f"PACK={source}", f"BUILD={tmp_path / 'made'}")
    built = run("make", "-C", CORTEX_M, "-j2", "size", *options)
    assert "warning" not in built
    for _ in range(3):
        command = ("make", "-C", str(CORTEX_M), "run", *options)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "Lockup" not in done.stderr:  # qemu 7.2's M55 starts before its vectors are there, once in many times
            break
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout + done.stderr  # qemu says what the device says on either
    assert answers(told) == answers(on_this_machine(core, source)) and len(answers(told)) == 3
    heap = [int(most) for most in re.findall(r"heap \d+ bytes, (\d+) at most", told)]
    assert len(heap) == 4 and 10_000 < max(heap) < 1_000_000


def pack_of(kind: str, folder: Path) -> Path:
    return pack_bundle(ROOT / "conformance" / kind, folder / "bundle.c").path


def on_this_machine(core: c.CDLL, source: Path) -> str:
    assert COMPILER is not None
    library, program = Path(core._name), source.with_name("firmware")  # noqa: SLF001
    run(
        *(COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "core" / "include", source),
        *(ROOT / "examples" / "c" / "firmware.c", library, f"-Wl,-rpath,{library.parent}", "-o", program),
    )
    return run(program)


def answers(told: str) -> list[str]:
    return [line for line in told.splitlines() if re.match(r"[A-Z].+[:?.] ", line) and line.endswith(("done", "fits"))]


EXTRA: Sequence[str] = ("arguments", "exemplars", "hnsw", "memory", "words", "planner")


def rewrite(source: Path, target: Path, extra: dict[str, bytes], licence: str) -> None:
    """The bundle with these files in the place of roles that nothing here looks into, and this licence everywhere."""
    manifest = read_manifest(source)
    instead = dict(zip(EXTRA, extra.values(), strict=False))
    with writing(target, False) as writer:
        for entry in manifest.files:
            if entry.role not in instead:
                writer.add(entry.name, entry.role, (source / entry.name).read_bytes(), licence, entry.source)
        for role, data in instead.items():
            writer.add(role, role, data, licence, "")
        writer.finish(manifest.info)
