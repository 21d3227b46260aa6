"""The command `edgeret store`: versions of a bundle in a folder, one of them active. The work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_overlay_key, add_runtime_options, chosen_key, loading_options
from edgeret.errors import InputError
from edgeret.quoting import visible
from edgeret.store.state import FILE
from edgeret.store.store import BundleStore
from edgeret.store.versions import sizes
from edgeret.terminal.console import MOST_CHARS, add_command, table

SHOWN_EVENTS = 5
"""Of what happened, for people."""


def add_store_command(commands: Any) -> None:
    """Adds `store` with add, activate, rollback, list and remove."""
    told = "Keep versions of a bundle, try the next one, switch to it and back."
    actions = commands.add_parser("store", help=told, description=told).add_subparsers(required=True, metavar="ACTION")
    added = add_command(
        actions, "add", "Copy a bundle into a store, each byte proved, or make it there by a delta.", _add, _print_added
    )
    _add_folder(added)
    added.add_argument("bundle", metavar="BUNDLE", help="folder of the bundle, or a delta for a version that is there")
    added.add_argument("--name", metavar="NAME", help="what to call it (default: 12 digits of its content hash)")
    added.add_argument("--activate", action="store_true", help="activate it, too, if it passes its checks")
    _add_checks(added)
    active = add_command(
        actions, "activate", "Have a version decide, once it passed its checks.", _activate, _print_switch
    )
    _add_folder(active)
    active.add_argument("version", metavar="VERSION", help="its name, its content hash, or the first digits of that")
    _add_checks(active)
    back = add_command(actions, "rollback", "Go back to the version that was active before.", _rollback, _print_switch)
    _add_folder(back)
    back.add_argument("--reason", default="", metavar="TEXT", help="why, for whoever lists what happened")
    _add_checks(back)
    listed = add_command(actions, "list", "List versions, and what happened to them.", _list, _print_list)
    _add_folder(listed)
    removed = add_command(actions, "remove", "Delete a version that is not active.", _remove, _print_removed)
    _add_folder(removed)
    removed.add_argument("version", metavar="VERSION", help="its name, its content hash, or the first digits of that")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="the store's folder")


def _add_checks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--must-decide",
        metavar="FILE",
        help='requests that must be decided so: {"query", "tool", "calls"?} a line, "tool": null for none',
    )
    add_runtime_options(parser)
    add_overlay_key(parser)


def _opened(arguments: argparse.Namespace, make: bool = False) -> BundleStore:
    """The store that the arguments name. Raises InputError for a folder that is none, unless it is to be made."""
    folder = Path(arguments.folder)
    if not make and not (folder / FILE).is_file():
        raise InputError(f"{folder}: no store; make one by adding a bundle: edgeret store add {folder} BUNDLE")
    if not hasattr(arguments, "profile"):
        return BundleStore(folder)
    # With an overlay, so that what was learned is brought along where the encoder is another one.
    return store_in(folder, arguments, overlay=True, must_decide=arguments.must_decide)


def store_in(folder: Path, arguments: argparse.Namespace, **more: Any) -> BundleStore:
    """The store that loads its versions by the options of `add_runtime_options`."""
    return BundleStore(folder, **more, **loading_options(arguments), overlay_key=chosen_key(arguments))


def _add(arguments: argparse.Namespace) -> Mapping[str, Any]:
    bundle = Path(arguments.bundle)
    if not bundle.exists():
        raise InputError(f"{bundle}: no such bundle; name its folder")
    with closing(_opened(arguments, make=bundle.is_dir())) as store:
        version = store.add(bundle, arguments.name, content_hash=arguments.content_hash)
        found = {
            "folder": arguments.folder,
            "version": version.name,
            "content_hash": version.content_hash,
            "active": store.active == version,
        }
        if arguments.activate:
            found |= {"active": True, "switched": store.activate(version).to_dict()}
    return found


def _activate(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with closing(_opened(arguments)) as store:
        version = store.find(arguments.version)
        if arguments.content_hash not in (None, version.content_hash):
            raise InputError(
                f"{version.name} has the content hash {version.content_hash}, not the one that is asked for"
            )
        return store.activate(version).to_dict()


def _rollback(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with closing(_opened(arguments)) as store:
        return store.rollback(arguments.reason).to_dict()


def _list(arguments: argparse.Namespace) -> Mapping[str, Any]:
    store = _opened(arguments)
    versions, active, events = store.versions, store.active, store.events
    names = {version.content_hash: version.name for version in versions}
    size = sizes(store.folder, list(names))
    return {
        "folder": str(store.folder),
        "active": None if active is None else active.name,
        "versions": [
            {
                "name": version.name,
                "content_hash": version.content_hash,
                "active": version == active,
                "size_mb": round(size[version.content_hash] / 1e6, 3),
            }
            for version in versions
        ],
        "events": [
            {
                "at": event.at,
                "what": event.what,
                "version": names.get(event.version, event.version[:12]),
                "reason": event.reason,
            }
            for event in events
        ],
    }


def _remove(arguments: argparse.Namespace) -> Mapping[str, Any]:
    version = _opened(arguments).remove(arguments.version)
    return {"removed": version.name, "content_hash": version.content_hash}


def _print_added(result: Mapping[str, Any]) -> str:
    text = f"added {result['version']}, content hash {result['content_hash']}"
    if "switched" in result:
        return f"{text}\n{_print_switch(result['switched'])}"
    return (
        text
        if result["active"]
        else f"{text}; not active yet: edgeret store activate {result['folder']} {result['version']}"
    )


def _print_switch(result: Mapping[str, Any]) -> str:
    lines = [f"ok     {check['name']}: {_short(check['detail'])}" for check in result["checks"]]
    learned = result["learned"]
    if learned["kept"] or learned["learned_again"] or learned["left"]:
        told = [f"{learned['kept']} plans count on, {learned['learned_again']} learned again from their words"]
        told += [f"{count} {why}" for why, count in learned["left"].items()]
        lines.append(f"learned: {'; '.join(told)}")
    lines += [f"tools: {_short(line)}" for line in result["tools_left"]]
    before = "" if result["before"] in (None, result["version"]) else f"; it was {result['before']}"
    return "\n".join([*lines, f"active: {result['version']}{before}"])


def _print_list(result: Mapping[str, Any]) -> str:
    rows = [
        ["*" if each["active"] else "", each["name"], each["content_hash"][:12], each["size_mb"]]
        for each in result["versions"]
    ]
    lines = [table(rows, ("active", "version", "content hash", "MB"))]
    if result["active"] is None:
        lines += ["", "no version is active yet"]
    latest = [
        f"{datetime.fromtimestamp(event['at'], UTC):%Y-%m-%d %H:%M:%S}  {event['what']} {event['version']}"
        + (f": {_short(event['reason'])}" if event["reason"] else "")
        for event in result["events"][-SHOWN_EVENTS:]
    ]
    return "\n".join([*lines, "", *latest] if latest else lines)


def _print_removed(result: Mapping[str, Any]) -> str:
    return f"removed {result['removed']}, content hash {result['content_hash']}"


def _short(text: str) -> str:
    return visible(" ".join(text.split()))[:MOST_CHARS]
