"""A browser without a window, for tests of pages. Knows nothing of pages."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@contextmanager
def temporary_apart() -> Iterator[dict[str, str]]:
    """An environment for it whose temporary folder goes afterwards, since it leaves folders there. Not in pytest's:
    its socket would have too long a path."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {**os.environ, "TMPDIR": folder}
