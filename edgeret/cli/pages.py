"""HTML pages out of templates, and the one place where a stranger's text is made harmless in them.

Knows no page: what a page shows lies in its template, and whoever renders it brings the values.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from edgeret.errors import MissingExtraError
from edgeret.quoting import visible


def render(template: str, extra: str, needed_for: str, package: str = "edgeret.cli", **values: Any) -> str:
    """The page that `package`'s folder `templates` holds under that name, with `values` in it; it may extend ours.

    Every value is escaped, and what a reader would not see in it is written out. Raises MissingExtraError, which names
    the `extra` that brings jinja2 and what it is `needed_for`.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError(extra, needed_for) from None
    folders = [jinja2.PackageLoader(name) for name in dict.fromkeys((package, "edgeret.cli"))]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["look"] = lambda: Markup(_look())
    return environment.get_template(template).render(values)


@cache
def _look() -> str:
    return files("edgeret").joinpath("look.css").read_text(encoding="utf-8")


def _seen(value: Any) -> Any:
    # Markup is a str too, but comes from us: a macro's result, or text that was escaped already.
    return visible(value, keep="\n") if type(value) is str else value
