"""The image of the Dockerfile, built, measured, run and asked: `make image`.

    python tests/image_run.py BUNDLE [--keep FOLDER]

With docker or podman, where one answers and can fetch the Dockerfile's base. Else its steps are done one by one in
roots that debootstrap makes: the same commands on the same files, but no layers and no namespaces of a container's own.
What debootstrap's root has beyond debian:bookworm-slim (documents, translations) is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LARGEST_MB = 250
PORT = 8090
NOTHING_HERE = 77
"""As automake's tests say it. 2 would be Python's own, for a script that is not there."""
SLIM_LEAVES_OUT = (
    *(f"usr/share/{name}" for name in ("doc", "info", "locale", "man")),
    "var/cache",
    "var/lib/apt/lists",
)
CERTIFICATES = ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
QUERY = "Turn the volume down a little"


def main() -> int:
    """0; 1 where the image is too large or does not answer; NOTHING_HERE where nothing is here that could make it."""
    parser = argparse.ArgumentParser(description="Build the image, measure it, run it and ask it.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for the roots, kept for the next run; for debootstrap")
    options = parser.parse_args()
    engine = engine_here()
    if engine is None and (os.geteuid() or not shutil.which("debootstrap")):
        print(
            "no docker, no podman, and no root with debootstrap; on Debian: apt-get install debootstrap",
            file=sys.stderr,
        )
        return NOTHING_HERE
    with tempfile.TemporaryDirectory(prefix="edgeret-image-") as folder:
        token = secrets.token_hex(16)
        if engine is not None:
            size, running = by_engine(engine, options.bundle.resolve(), token)
        else:
            size, running = by_hand(options.keep or Path(folder), options.bundle.resolve(), token)
        print(f"image: {size / 1e6:.1f} MB without a bundle, at most {LARGEST_MB} (by {engine or 'debootstrap'})")
        with running:
            health, decided, refused = ask("/health", token), ask("/v1/decide", token), ask("/v1/decide", "x" * 32)
    print(f"health {health}; decided {decided.get('tool')} ({decided.get('probability')}); without the token {refused}")
    return int(size > LARGEST_MB * 1e6 or not decided.get("tool") or "error" not in refused)


def engine_here() -> str | None:
    """The first of docker and podman that answers and has, or can fetch, what the Dockerfile begins with."""
    base = next(words[1] for words in steps() if words[0] == "FROM")
    for name in ("docker", "podman"):
        if shutil.which(name) and not subprocess.run([name, "info"], capture_output=True, check=False).returncode:
            if not subprocess.run([name, "pull", "--quiet", base], capture_output=True, check=False).returncode:
                return name
            print(f"{name} answers, but {base} cannot be fetched", file=sys.stderr)
    return None


def by_engine(engine: str, bundle: Path, token: str) -> tuple[int, Any]:
    """The image's size in bytes, and the container as a context."""
    subprocess.run([engine, "build", "--quiet", "-t", "edgeret", str(ROOT)], check=True)
    size = subprocess.run(
        [engine, "image", "inspect", "--format", "{{.Size}}", "edgeret"], check=True, capture_output=True, text=True
    )

    @contextmanager
    def running() -> Iterator[None]:
        own = service()
        command = [engine, "run", "--rm", "--detach", "--read-only", "--cap-drop", "ALL", "-p", own["ports"][0]]
        command += ["-e", f"EDGERET_SERVE_TOKEN={token}", "-v", f"{bundle}:/bundle:ro", "edgeret"]
        name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        try:
            yield
        finally:
            subprocess.run([engine, "stop", name], check=False, capture_output=True)

    return int(size.stdout), running()


def by_hand(folder: Path, bundle: Path, token: str) -> tuple[int, Any]:
    """The last root's size in bytes, and its server as a context."""
    folder.mkdir(parents=True, exist_ok=True)
    roots: dict[str, Path] = {}
    root, user, environment, command = folder, "root", {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, []
    for number, words in enumerate(steps()):
        match words[0]:
            case "FROM":
                environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
                name = words[3] if len(words) > 3 else "last"
                root = roots[name] = folder / name
                debian(words[1], folder, root)
            case "COPY" if words[1].startswith("--from="):
                copy_tree(roots[words[1].partition("=")[2]] / words[2].strip("/"), root / words[3].strip("/"))
            case "COPY":
                context(root / words[2].strip("/"))
            case "ENV":
                environment |= dict(word.split("=", 1) for word in words[1:])
            case "USER":
                user = words[1]
            case "RUN":
                print(f"step {number}: {words[1][:100]}", file=sys.stderr)
                inside(root, ["sh", "-c", words[1]], environment)
            case "ENTRYPOINT" | "CMD":
                command += json.loads(words[1])
            case "EXPOSE":
                assert int(words[1]) == PORT
            case other:
                raise SystemExit(f"Dockerfile: {other} is not known here; teach tests/image_run.py")
    assert not (root / "usr/bin/gcc").exists(), "a compiler is in the image"

    @contextmanager
    def running() -> Iterator[None]:
        mounted = root / "bundle"
        mounted.mkdir(exist_ok=True)
        # Namespaces for mounts and processes: what is mounted goes with the server, and all ends with its first.
        inner = ["chroot", f"--userspec={user}", str(root), "env", "-i", f"EDGERET_SERVE_TOKEN={token}"]
        inner += [f"{key}={value}" for key, value in environment.items()] + command
        places = shlex.join([str(bundle), str(mounted)])
        # The shell stays the first and root: whoever changes its user no longer ends with unshare.
        script = f"mount --bind -o ro {places} && {shlex.join(inner)}; exit $?"
        server = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script])
        try:
            yield
        finally:
            server.kill()  # while it waits, unshare heeds no SIGTERM
            server.wait()

    size = sum(f.lstat().st_size for f in root.rglob("*") if f.is_file() and not f.is_symlink())
    less = sum(
        f.lstat().st_size
        for left in SLIM_LEAVES_OUT
        for f in (root / left).rglob("*")
        if f.is_file() and not f.is_symlink()
    )
    return size - less, running()


def steps() -> list[list[str]]:
    """The Dockerfile's instructions as words; of RUN, ENTRYPOINT and CMD the rest is one."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = ("RUN", "ENTRYPOINT", "CMD")
    return [line.split(maxsplit=1) if line.startswith(whole) else line.split() for line in lines]


def service() -> dict[str, Any]:
    """compose.yaml's one service."""
    import yaml

    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["edgeret"]
    return found


def debian(image: str, folder: Path, root: Path) -> None:
    """A root like `debian:NAME-slim`, made once and copied."""
    suite = re.fullmatch(r"debian:(\w+)-slim", image)
    if suite is None:
        raise SystemExit(f"Dockerfile: {image} cannot be made by debootstrap; install docker or podman")
    first = folder / f"debian-{suite[1]}"
    if not first.exists():
        subprocess.run(
            ["debootstrap", "--variant=minbase", suite[1], f"{first}.partial"], check=True, stdout=sys.stderr
        )
        Path(f"{first}.partial").rename(first)
    shutil.rmtree(root, ignore_errors=True)
    copy_tree(first, root)


def context(to: Path) -> None:
    """What .dockerignore leaves of the checkout. Its lines are: all, but these, without those."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    dropped = shutil.ignore_patterns(*(line.removeprefix("**/") for line in lines if line.startswith("**/")))
    for name in (line[1:] for line in lines if line.startswith("!")):
        source, target = ROOT / name, to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=dropped)
        else:
            shutil.copy(source, target)


def copy_tree(source: Path, to: Path) -> None:
    """A folder as it is: links, owners, times."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", str(source), str(to)], check=True)


def inside(root: Path, command: Sequence[str], environment: dict[str, str]) -> None:
    """Runs a command in a root, with this machine's names and certificates of servers, which no image keeps."""
    told = environment | {"PIP_CERT": "/run/certificates", "PIP_ROOT_USER_ACTION": "ignore"}
    mounts = ["mount -t proc proc proc", "mount -t tmpfs none run"]
    for file, place in (("/etc/resolv.conf", "etc/resolv.conf"), (CERTIFICATES, "run/certificates")):
        mounts += [f"touch {place}", f"mount --bind {shlex.quote(file)} {place}"]
    run = shlex.join(["chroot", ".", "env", "-i", *(f"{key}={value}" for key, value in told.items()), *command])
    script = "\n".join([*mounts, f"exec {run}"])
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", script], check=False, stdout=sys.stderr, cwd=root)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)[:200]}: exit code {done.returncode}")


def ask(path: str, token: str) -> dict[str, Any]:
    """The server's answer, which may be a refusal; waits for a server that is starting."""
    body = json.dumps({"query": QUERY}).encode() if path.startswith("/v1") else None
    headers = {"content-type": "application/json", "x-edgeret-token": token}
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body, headers)
    for _ in range(120):
        with suppress(ConnectionError, urllib.error.URLError):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                return json.loads(error.read())
        time.sleep(0.5)
    raise SystemExit(f"nothing answers on port {PORT}")


if __name__ == "__main__":
    sys.exit(main())
