"""Options that several commands share, and what they ask for. Prints nothing but what was asked for and not had."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from edgeret.adapters.serve.service import Changes
from edgeret.bundle.overlay_file import overlay_path, read_overlay
from edgeret.encoders.providers import NAMES
from edgeret.encoders.variants import LOADABLE
from edgeret.errors import InputError
from edgeret.inputs.examples_file import with_examples_of
from edgeret.inputs.tools import read_tools
from edgeret.runtime.bases import base_path
from edgeret.runtime.kept import summed
from edgeret.runtime.loading import from_tools, load
from edgeret.runtime.options import COVERAGE, INDEX_KINDS, LOSS, MOST_KEY, PROFILES, check_key
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import warn
from edgeret.types import Tool


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, found {text!r}") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, found {value}")
    return value


def clock(text: str) -> datetime:
    """A day and a time of ISO 8601, for argparse."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be like 2026-11-29T10:00:00+01:00, found {text!r}") from None


def add_clock(parser: argparse._ActionsContainer) -> None:
    """Adds what days such as "tomorrow" are counted from."""
    parser.add_argument(
        "--now",
        type=clock,
        default=datetime.now().astimezone(),
        metavar="TIME",
        help='what "tomorrow" is counted from (default: this machine\'s clock)',
    )


def probability(text: str) -> float:
    """A number from 0 to 1, for argparse."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, found {value:g}")
    return value


def coverage(text: str) -> float:
    """A number between 0 and 1 that is neither, for argparse."""
    value = probability(text)
    if value in (0, 1):
        raise argparse.ArgumentTypeError(f"must lie above 0 and below 1, found {value:g}")
    return value


def add_runtime_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options of `edgeret.load` that a command line can give."""
    parser.add_argument(
        "--provider",
        action="append",
        metavar="NAME",
        help=f"execution provider: {', '.join(NAMES)} (default: cpu), or by ONNX Runtime's own name",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help=f"the encoder's graph to run, of those that the bundle was built for: {', '.join(LOADABLE)}, or one as "
        "`inspect` calls it (default: what suits the provider)",
    )
    add_content_hash(parser)
    add_trust(parser)
    parser.add_argument(
        "--index", choices=INDEX_KINDS, default="auto", help="how tools are searched (default: %(default)s)"
    )
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="default",
        help="decide by the table of token vectors where it is sure (default), by the full encoder always (full), or "
        "by the table alone (tiny)",
    )
    parser.add_argument(
        "--loss",
        type=probability,
        default=LOSS,
        metavar="L",
        help="accuracy that deciding without the full encoder may cost (default: %(default)s)",
    )
    parser.add_argument(
        "--risk",
        type=probability,
        metavar="R",
        help="share of answers that may be wrong; as many requests are answered as that allows (default: the bundle's "
        "floor)",
    )
    parser.add_argument("--allow-fallback", action="store_true", help="run on the CPU where the provider cannot be had")
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="CPU threads (default: two for a text in int8, otherwise what this process may use)",
    )
    parser.add_argument(
        "--gpu-layers", type=int, default=0, metavar="N", help="planner layers on a GPU (default: 0; -1: all)"
    )
    parser.add_argument(
        "--state-folder", metavar="FOLDER", help="where the planner's cache for its constant prompt is kept"
    )


def add_overlay_options(parser: argparse._ActionsContainer, *, writes: bool = False) -> None:
    """Adds the choice of an overlay to a command that reads one, or `writes` to it; without them, there is none."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--overlay",
        default=True,
        metavar="FILE",
        help="where changed tools and what was learned are kept (default: BUNDLE.overlay, beside the bundle)",
    )
    if not writes:
        choice.add_argument(
            "--no-overlay", dest="overlay", action="store_false", help="the bundle as it was built, and nothing else"
        )
    add_overlay_key(parser)
    parser.set_defaults(writes=writes)


def add_overlay_key(parser: argparse._ActionsContainer) -> None:
    """Adds the option that binds what is learned to a device."""
    parser.add_argument(
        "--overlay-key",
        metavar="FILE",
        help="a secret of this device, 16 to 1,024 bytes: what is learned is bound to it, other overlays are refused",
    )


def chosen_key(arguments: argparse.Namespace) -> bytes | None:
    """What the file of `add_overlay_key` holds; None for none. Raises InputError."""
    named = getattr(arguments, "overlay_key", None)
    if named is None:
        return None
    try:
        with Path(named).open("rb") as file:
            key = file.read(MOST_KEY + 1)
    except OSError as error:
        raise InputError(f"--overlay-key {named}: cannot be read ({error.strerror})") from None
    try:
        check_key(key)
    except InputError as error:
        raise InputError(f"--overlay-key {named}: {error}") from None
    return key


def chosen_overlay(arguments: argparse.Namespace) -> Path | None:
    """The overlay that the options of `add_overlay_options` choose; None for none. Raises InputError for a file that a
    reader names and that is not there."""
    if not getattr(arguments, "overlay", False):
        return None
    if arguments.overlay is True:
        return overlay_path(arguments.bundle)
    path = Path(arguments.overlay)
    if not arguments.writes and not path.exists():
        raise InputError(f"{path}: no such overlay; name another with --overlay, or take none with --no-overlay")
    return path


def changes_in(runtime: Runtime, overlay: Path | None, key: bytes | None) -> Changes:
    """Which of a runtime's tools its overlay has, and not its bundle. Raises OverlayError."""
    return Changes.of(summed(() if overlay is None else read_overlay(overlay, runtime.manifest.fingerprint, key)))


def add_base(parser: argparse._ActionsContainer) -> None:
    """Adds the bundle that lends a proxy its encoder."""
    parser.add_argument(
        "--base",
        metavar="BUNDLE",
        help="a bundle whose encoder reads tools and requests; any will do (default: the one that is installed)",
    )


def add_examples(parser: argparse._ActionsContainer, where: str = "where tools are read from a file: ") -> None:
    """Adds the file of what users say for the tools that a command reads."""
    parser.add_argument(
        "--examples",
        metavar="FILE",
        help=f'{where}requests for them, {{"name", "examples"}} a line, or what `edgeret-export lab expand` wrote',
    )


def read_shown(arguments: argparse.Namespace, files: Sequence[str]) -> list[Tool]:
    """The tools of these files, with what `--examples` shows of them; what is mended is told on stderr."""
    tools = read_tools(*files, tell=warn)
    return tools if arguments.examples is None else with_examples_of(tools, arguments.examples, warn)


def from_files(arguments: argparse.Namespace, files: Sequence[str]) -> Runtime:
    """A runtime of the tools in these files, in the place of a bundle; tells what is odd about their examples."""
    tools = read_shown(arguments, files)
    _check_kept(arguments)
    arguments.bundle, arguments.overlay, arguments.examples = str(chosen_base(arguments)), False, None
    return _told(from_tools(tools, base=load_runtime(arguments)))


def _check_kept(arguments: argparse.Namespace) -> None:
    """Raises InputError for options about what is kept, where tools alone decide."""
    named = "--overlay" if isinstance(getattr(arguments, "overlay", None), str | Path) else None
    named = named or ("--overlay-key" if getattr(arguments, "overlay_key", None) is not None else None)
    if named is not None:
        raise InputError(
            f"{named} goes with a bundle, and a file of tools keeps nothing; make a bundle with: edgeret-export build"
        )


def _told(runtime: Runtime) -> Runtime:
    for line in runtime.odd_examples():
        warn(line)
    return runtime


def chosen_base(arguments: argparse.Namespace) -> Path:
    """What the option of `add_base` names; else the base that is installed. Raises InputError where there is none."""
    base = base_path() if getattr(arguments, "base", None) is None else Path(arguments.base)
    if not base.is_dir():
        raise InputError(f"{base}: no such bundle; without --base the one that comes with edgeret is used")
    return base


def base_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a proxy's base is loaded with: who must have signed it, and what its overlay is bound to. Raises
    InputError."""
    found = {"trust": arguments.trust, "overlay_key": chosen_key(arguments)}
    return {name: value for name, value in found.items() if value is not None}


def learned_path(base: Path, name: str) -> Path:
    """Where what is learned over a base is kept by default: beside the bundle, or with the user where the base is an
    installed one, whose folder the next installation replaces. `name` tells who learns. Raises InputError where the
    user's folder cannot be made."""
    if base != base_path():
        return base.with_name(f"{base.name}.{name}.overlay")
    folder = Path.home() / ".edgeret"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name a place for what is learned") from None
    return folder / f"{name}.overlay"


def add_content_hash(parser: argparse._ActionsContainer) -> None:
    """Adds the option that names the very bundle that is wanted."""
    parser.add_argument("--content-hash", metavar="HEX", help="refuse any bundle but the one with this content hash")


def add_trust(parser: argparse._ActionsContainer) -> None:
    """Adds the option that names who must have signed the bundle."""
    parser.add_argument(
        "--trust",
        action="append",
        metavar="KEYFILE",
        help="refuse a bundle that none of these public keys signed; may be given several times",
    )


def take_file_of_tools(arguments: argparse.Namespace) -> None:
    """Takes a file in the bundle's place for what `--tools` would name, where that names several."""
    if arguments.bundle is not None and arguments.tools is None and kind_of_path(arguments.bundle) == "file":
        arguments.bundle, arguments.tools = None, [arguments.bundle]


def loading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_runtime_options` say to `edgeret.load`, whichever bundle that loads."""
    same = ("allow_fallback", "threads", "gpu_layers", "state_folder", "index", "profile", "loss", "risk", "target")
    named = {name: getattr(arguments, name) for name in (*same, "trust")}
    return {**named, "providers": arguments.provider or ("cpu",)}


def load_runtime(arguments: argparse.Namespace) -> Runtime:
    """The runtime that the options of `add_runtime_options` and `add_overlay_options` ask for, of a bundle or of a file
    of tools; says on stderr where it fell back to another provider than the first one."""
    start, overlay = partial(load, arguments.bundle), None
    place = Path(arguments.bundle)
    if place.suffix in (".json", ".jsonl") and not place.exists():
        raise InputError(f"{place}: no such file; give a bundle's folder, or a file of tools")
    of_tools = hasattr(arguments, "base") and kind_of_path(arguments.bundle) == "file"
    if of_tools:
        _check_kept(arguments)
        start = partial(from_tools, read_shown(arguments, [arguments.bundle]), base=chosen_base(arguments))
    elif getattr(arguments, "examples", None) is not None:
        raise InputError(
            "--examples goes with a file of tools; give a bundle's tools theirs with: edgeret-export build --examples, "
            "or edgeret tools add BUNDLE TOOLS --replace --examples"
        )
    else:
        overlay = chosen_overlay(arguments)
    runtime = start(
        **loading_options(arguments),
        content_hash=arguments.content_hash,
        overlay=False if overlay is None else overlay,
        overlay_key=chosen_key(arguments) if overlay is not None else None,
    )
    encoder = runtime.loaded.runs_beside
    if encoder is not None and encoder.providers[0] != encoder.requested[0]:
        warn(f"asked for {encoder.requested[0]}, running on {encoder.providers[0]}")
    return _told(runtime) if of_tools else runtime


def parse_history(text: str) -> list[str]:
    """The names that `--history` gives, as `parse_names`."""
    return parse_names(text, "--history")


def add_history(parser: argparse._ActionsContainer) -> None:
    """Adds the calls so far; `parse_history` reads them."""
    parser.add_argument(
        "--history", default="", metavar="a,b,c", help="tools called so far, in order (or a JSON array)"
    )


def parse_names(text: str, option: str) -> list[str]:
    """Tool names from `a,b,c`, or from a JSON array where names hold commas. Raises InputError, which names the
    option."""
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{option}: not a JSON array ({error})") from None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{option}: a JSON array of tool names is needed")
        return list(names)
    return [name.strip() for name in text.split(",") if name.strip()]


def add_mask_options(parser: argparse._ActionsContainer) -> None:
    """Adds what shapes a planner's mask and prompt, whatever the masking."""
    parser.add_argument(
        "--weighted",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether prompts show probabilities (default: %(default)s)",
    )
    parser.add_argument(
        "--coverage",
        type=coverage,
        default=COVERAGE,
        metavar="C",
        help="how often the mask should hold what is right (default: %(default)s)",
    )


def kind_of_path(word: str) -> str:
    """What lies where a word names a path: folder, file or nothing."""
    try:
        return "folder" if Path(word).is_dir() else "file" if Path(word).exists() else "nothing"
    except (OSError, ValueError):  # words that no path can be
        return "nothing"
