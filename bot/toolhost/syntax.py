"""The language of a file by its name, and whether its text parses: Python, JSON and TOML, by the standard library."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import PurePath

from bot.ecosystems.registry import ecosystems

# Characters over which a file is not parsed: that takes seconds, and such files are generated. JSON is read fast, and a
# lock file is long.
LARGEST = 1_000_000
_LARGEST_JSON = 20 * LARGEST

JSON, JSON_WITH_COMMENTS, PYTHON, TOML, YAML = "JSON", "JSON with comments", "Python", "TOML", "YAML"

# The end of a lower-case path decides, the first that fits; a name is preceded by a slash, a suffix by anything.
_NAMES: Mapping[str, str] = {
    JSON_WITH_COMMENTS: r"\.jsonc|\.code-(?:workspace|snippets)|\.sublime-(?:project|settings)|/[tj]sconfig[^/]*\.json"
    r"|/\.?devcontainer\.json|/\.(?:vscode|devcontainer|zed)/[^/]*\.json|/\.(?:babelrc|swcrc|jshintrc)|/bun\.lock"
    r"|/(?:\.eslintrc|tslint|angular|rush|api-extractor|appsettings[^/]*)\.json",
    JSON: r"\.(?:json|ipynb|geojson|topojson|webmanifest|jsonld|har|gltf|avsc|arb|importmap|tfstate)|/package\.resolved"
    r"|/(?:flake|deno|conan|symfony)\.lock|/\.(?:bowerrc|watchmanconfig|firebaserc)",
    TOML: r"\.toml",
    YAML: r"\.ya?ml|\.cff|/(?:pubspec|podfile|chart|pixi|buf)\.lock|/\.clang-(?:format|tidy)|/\.yamllint",
    PYTHON: r"\.pyi?",
}
_LANGUAGES = {language: re.compile(rf".*(?:{names})", re.DOTALL) for language, names in _NAMES.items()}


def language(path: PurePath) -> str:
    """The language of a file of this name; empty if it is not known here."""
    low = f"/{path}".lower()
    own = next(
        (one.formats[path.name.lower()] for one in ecosystems() if path.name.lower() in one.formats), ""
    )
    return own or next((language for language, names in _LANGUAGES.items() if names.fullmatch(low)), "")


def first_error(path: PurePath, text: str) -> str:
    """Why `text` does not parse, as a clause; empty if it does, or is not checked."""
    kind = language(path)
    parse = PARSERS.get(kind)
    if parse is None or len(text) > (_LARGEST_JSON if parse in (_json, _json_with_comments) else LARGEST):
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _json(content: str) -> object:
    return json.loads(content)


_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*+")|//[^\n]*+|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\\n])*+")|,(?=\s*+[}\]])')


def _json_with_comments(content: str) -> object:
    """Blank out comments and last commas, so that the places in an error's message stay."""
    for pattern in (_COMMENT, _LAST_COMMA):
        content = pattern.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), content)
    return _json(content)


def _toml(content: str) -> object:
    import tomllib

    return tomllib.loads(content)


PARSERS: Mapping[str, Callable[[str], object]] = {
    PYTHON: _python,
    JSON: _json,
    JSON_WITH_COMMENTS: _json_with_comments,
    TOML: _toml,
}
