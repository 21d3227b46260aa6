"""A bundle, an overlay, or a list of tools to a runtime. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeret.errors import InputError, NoMemoryError
from edgeret.runtime.bases import base_path
from edgeret.runtime.loaded import Loaded, load_bundle
from edgeret.runtime.options import LOSS, LoadOptions, Profile, check_path
from edgeret.runtime.runtime import Runtime
from edgeret.types import IndexKind, Tool

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted


def load(
    path: str | Path,
    *,
    providers: str | Sequence[str] = ("cpu",),
    allow_fallback: bool = False,
    provider_options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
    static_tokens: int | None = None,
    gpu_layers: int = 0,
    state_folder: str | Path | None = None,
    content_hash: str | None = None,
    index: IndexKind = "auto",
    overlay: str | Path | bool | None = False,
    profile: Profile = "default",
    loss: float = LOSS,
    risk: float | None = None,
    target: str | None = None,
    trust: Trusted | Sequence[Trusted] | None = None,
    overlay_key: bytes | None = None,
) -> Runtime:
    """Loads a bundle; every file is verified before anything parses it.

    `providers` are execution providers by name ("cpu", "cuda", "qnn", …), the first of which must really run unless
    `allow_fallback`. `threads` is the CPU budget for encoder and planner alike (default: two for an int8 encoder's
    texts; for others what affinity, cgroups and OMP_NUM_THREADS allow). `static_tokens` fixes the length, for
    compilers. A planner is loaded when first asked, with `gpu_layers` on a GPU; `state_folder` keeps what `warmup` had
    it read.

    `content_hash` (hex), obtained over a way that you trust, must be the bundle's. `trust`, files of public keys or
    32 bytes of one, must have signed it (docs/howto/trust.md). Both are checked before anything is parsed. `index` is
    "exact" for a search that never parses the bundle's HNSW graph, "hnsw" to insist on it, "auto" to use it where there
    are so many tools that it is faster. Load in the process that decides: a runtime does not survive a fork.

    `overlay` is the file that keeps tools that came and went and what was learned (True: NAME.overlay beside the
    bundle; or a path; False or None for none). It is read now; each change waits up to 10 s for another process's, and
    takes up what others learned. Without one, what is learned lasts as long as the runtime. `overlay_key`, 16 to 1,024
    bytes that only this device knows, binds the file to it: one of another device, or altered, is refused.

    `profile` is "default" to decide by the bundle's table of token vectors where that is sure enough and else by the
    full encoder, as long as this costs at most `loss` of accuracy on held-out demonstrations; "full" to ask the full
    encoder always; "tiny" to load the table alone. What was learned rests on the full encoder, which then always reads.
    `risk`, 0.005 to 0.5, is the share of answers that may be wrong by held-out decisions; None for the bundle's floor.
    `target` names the encoder's graph to run, of those that the bundle was built with: "cpu", "gpu" or "npu", or one by
    the name that `edgeret inspect` shows. Without it the first provider chooses, and on CPUs their instructions.

    Raises InputError for options out of range and for a profile or target that the bundle cannot have, BundleError,
    OverlayError, ProviderError, MissingExtraError or NoMemoryError.
    """
    options = LoadOptions(
        *(providers, allow_fallback, provider_options, threads, static_tokens, gpu_layers, state_folder, content_hash),
        *(index, overlay, profile, loss, risk, target, trust, overlay_key),
    )
    check_path("a bundle's folder", path)
    try:
        loaded, place = load_bundle(path, options), _overlay_path(path) if overlay is True else overlay
        return with_overlay(loaded, Path(place), overlay_key) if place else Runtime(loaded)
    except MemoryError:
        raise NoMemoryError(
            f"{path}: no memory to load it; free some, or load less of it with profile 'tiny', or a smaller bundle"
        ) from None


def _overlay_path(path: str | Path) -> Path:
    from edgeret.bundle.overlay_file import overlay_path

    return overlay_path(path)


def from_tools(tools: Sequence[Tool], *, base: str | Path | Runtime | None = None, **options: Any) -> Runtime:
    """A runtime for these tools, made here and now of the encoder of another bundle, `base`: a folder, which is
    loaded with the `options` of `load`, or a runtime; None for the base that is installed (`base_path`). The tools' own
    words decide; `Runtime.learn` makes it better. Raises InputError for tools that cannot be used, and as `load`."""
    if not isinstance(tools, Sequence) or not tools or not all(isinstance(tool, Tool) for tool in tools):
        raise InputError("from_tools needs a list of at least one edgeret.Tool, as edgeret.read_tools gives them")
    if options.get("overlay", False) not in (False, None):
        raise InputError("from_tools takes no overlay, it keeps nothing; build a bundle of these tools to keep more")
    if isinstance(base, Runtime):
        loaded = base.loaded
    else:
        place = base_path() if base is None else base
        check_path("a bundle's folder", place)
        loaded = load_bundle(place, LoadOptions(**options))
    loaded.check_process()
    return Runtime(loaded.instead(tools))


def with_overlay(loaded: Loaded, path: Path, key: bytes | None = None) -> Runtime:
    """A runtime that goes on where an overlay left off, one that is bound to `key`. Raises OverlayError."""
    return Runtime(loaded.going_on(path.absolute(), key))
