"""Jinja templates of a package, compiled beside its bytecode."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket


class TemplateCache(jinja2.FileSystemBytecodeCache):
    """The cache in `__pycache__` of `package`, its folder. Compiling the report's templates takes a third of a second.

    Whoever can write there can replace the package's bytecode as well. Where nothing can be written, as in a read-only
    installation or with `PYTHONDONTWRITEBYTECODE`, templates are compiled in each process.
    """

    def __init__(self, package: Path) -> None:
        super().__init__(str(package / "__pycache__"), f"jinja2-{jinja2.__version__}-%s.cache")

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)


def environment(package: Path, templates: Path, *, autoescape: bool, **options: Any) -> jinja2.Environment:
    """The environment for the files in `templates`; a missing value is an error. `autoescape` is for HTML; `options`
    are jinja2's."""
    return jinja2.Environment(
        autoescape=autoescape,  # noqa: S701 - false for Markdown only, whose values are escaped one by one
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        bytecode_cache=TemplateCache(package),
        **options,
    )
