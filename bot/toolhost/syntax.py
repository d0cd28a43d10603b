"""Check the syntax of a text with the standard library: Python, JSON, TOML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

# Characters over which a file is not parsed: that takes seconds, and such files are generated.
LARGEST = 1_000_000


def language(path: PurePath) -> str:
    """The language of a file of this name; empty if it is not checked."""
    return _PARSERS.get(path.suffix.lower(), ("", _json))[0]


def first_error(path: PurePath, text: str) -> str:
    """Why `text` does not parse, as a clause; empty if it does, or is not checked."""
    kind, parse = _PARSERS.get(path.suffix.lower(), ("", _json))
    if not kind or len(text) > LARGEST:
        return ""
    try:
        parse(text)
    except (ValueError, SyntaxError) as error:
        # The message of a JSON or TOML error names the place itself.
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        return where[:200].rstrip(".")
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return ""


def _python(content: str) -> object:
    import ast  # these three only if they are needed
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _json(content: str) -> object:
    import json

    return json.loads(content)


def _toml(content: str) -> object:
    import tomllib

    return tomllib.loads(content)


_PARSERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".py": ("Python", _python),
    ".pyi": ("Python", _python),
    ".json": ("JSON", _json),
    ".toml": ("TOML", _toml),
}
