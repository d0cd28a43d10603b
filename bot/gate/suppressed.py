"""Where a change tells a checker to be silent: marks in the code, language by language, each with its lines.

A reader of lines and not of programs; `weakened` has the tests that are skipped. What it names is shown
to a reviewer, and nothing is refused for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from bot.gate.weakened import Line

_LINES_NAMED = 5
_MARKS_NAMED = 4
# A mark stands at a line's end as a rule, and a line may be a file's five megabytes.
_LOOKED_AT = 2_000
_END = 300


def suppressed(path: str, removed: Iterable[Line], added: Iterable[Line]) -> str:
    """A clause that names the new marks with their lines; "" where there are no more than before."""
    pattern = _pattern_of(path.rpartition("/")[2].lower())
    if pattern is None:
        return ""
    old, new = _marked(pattern, removed), _marked(pattern, added)
    number = 0
    found: dict[str, list[Line]] = {}
    for mark, lines in new.items():
        there = old.get(mark, [])
        if (more := len(lines) - len(there)) > 0:
            number += more
            found[mark] = _without(lines, there)
    return _told(number, found)


def _marked(pattern: re.Pattern[bytes], lines: Iterable[Line]) -> dict[str, list[Line]]:
    marked: dict[str, list[Line]] = {}
    for line in lines:
        for mark in dict.fromkeys(_marks(pattern, line.text)):
            marked.setdefault(mark, []).append(line)
    return marked


def _marks(pattern: re.Pattern[bytes], text: bytes) -> Iterator[str]:
    near = text if len(text) <= _LOOKED_AT + _END else text[:_LOOKED_AT] + b" " + text[-_END:]
    for found in pattern.finditer(near):
        yield " ".join(found[0].decode(errors="replace").split())


def _without(lines: Iterable[Line], there: Iterable[Line]) -> list[Line]:
    """Those of `lines` that did not only move. Which of the others is new nobody can tell."""
    moved = Counter(_bare(line) for line in there)
    left = []
    for line in lines:
        if moved[bare := _bare(line)]:
            moved[bare] -= 1
        else:
            left.append(line)
    return left


def _bare(line: Line) -> bytes:
    return b"".join(line.text[:_LOOKED_AT].split())


def _told(number: int, found: Mapping[str, Sequence[Line]]) -> str:
    if not found:
        return ""
    named = [f"{mark} ({_where(lines)})" for mark, lines in list(found.items())[:_MARKS_NAMED]]
    more = f" and {len(found) - _MARKS_NAMED} other kinds" if len(found) > _MARKS_NAMED else ""
    return f"adds {'a suppression' if number == 1 else f'{number} suppressions'}: {', '.join(named)}{more}"


def _where(lines: Sequence[Line]) -> str:
    numbers = ", ".join(str(line.number) for line in lines[:_LINES_NAMED])
    more = f" and {len(lines) - _LINES_NAMED} more" if len(lines) > _LINES_NAMED else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {numbers}{more}"


def _pattern_of(name: str) -> re.Pattern[bytes] | None:
    extension = name.rpartition(".")[2]
    for extensions, pattern in _LANGUAGES:
        if extension in extensions:
            return _compiled(pattern)
    return None


@lru_cache(maxsize=16)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


# What is found is what is told, so each stops where the mark's own name ends.
_PYTHON = (
    rb"#\s*+(?:(?:ruff|flake8):\s*+)?(?i:noqa)\b|#\s*+type:\s*+ignore\b|#\s*+(?:pyright|ty|pyre-?):\s*+ignore\b"
    rb"|#\s*+pyre-(?:ignore|fixme)\b|#\s*+pyright:\s*+(?:basic|off)\b"
    rb"|#\s*+mypy:\s*+(?:ignore-errors|disable-error-code|allow-untyped\S{0,20})"
    rb"|#\s*+pylint:\s*+(?:disable|skip-file)\b(?:-next)?|#\s*+pragma:\s*+no (?:cover|branch)\b|#\s*+nosec\b"
    rb"|@(?:typing\.)?no_type_check\b"
)
_SCRIPT = (
    rb"@ts-(?:nocheck|ignore|expect-error)\b|\b(?:eslint|oxlint)-disable(?:-next-line|-line)?\b"
    rb"|\bbiome-ignore(?:-all|-start)?\b|\bdeno-lint-ignore(?:-file)?\b|\btslint:disable\b"
    rb"|\b(?:istanbul|c8|v8) ignore\b|\$Flow(?:FixMe|Ignore)\b|@noflow\b"
)
_GO = rb"//\s*+nolint\b|//\s*+lint:(?:file-)?ignore\b|#nosec\b"
_RUST = (
    rb"#!?\[\s*+(?:allow|expect)\s*+\(|\bcfg_attr\s*+\([^()\]]{0,80}\([^()]{0,80}\)?\s*+,\s*+allow\s*+\("
    rb"|\bcfg_attr\s*+\([^()\]]{0,80},\s*+allow\s*+\(|#!?\[\s*+coverage\s*+\(\s*+off\b"
)
_SHELL = rb"#\s*+shellcheck\s++disable\b"
_JVM = (
    rb"@(?:file:)?Suppress(?:Warnings|FBWarnings|Lint)?\b|\bNOSONAR\b|@nowarn\b|\bCHECKSTYLE:OFF\b"
    rb"|//\s*+noinspection\b"
)
_SHARP = (
    rb"#pragma\s++warning\s++disable\b|\[(?:\w+:\s*+)?(?:SuppressMessage|ExcludeFromCodeCoverage)\b"
    rb"|#nullable\s++disable\b"
)
_C = (
    rb"\bNOLINT(?:NEXTLINE|BEGIN)?\b|#pragma\s++(?:GCC|clang)\s++diagnostic\s++ignored\b"
    rb"|#pragma\s++warning\s*+\(\s*+disable\b|\bcppcheck-suppress\b|\b(?:LCOV|GCOVR?)_EXCL_(?:BR_)?(?:LINE|START)\b"
)
_RUBY = rb"\brubocop:(?:disable|todo)\b|#\s*+:nocov:|#\s*+typed:\s*+(?:false|ignore)\b|\bT\.unsafe\b"
_PHP = (
    rb"@phpstan-ignore(?:-next-line|-line)?\b|@psalm-suppress\b|\bphpcs:(?:ignore|disable)\b"
    rb"|@codeCoverageIgnore(?:Start)?\b"
)
_SWIFT = rb"\bswiftlint:disable\b"
_SETTINGS = (
    rb"\byamllint\s++disable\b|\bhadolint\s++ignore\b|\b(?:tflint|checkov|trivy|kics)[:-](?:ignore|skip)\b"
)
_LANGUAGES: tuple[tuple[frozenset[str], bytes], ...] = (
    (frozenset({"py", "pyi", "pyx"}), _PYTHON),
    (
        frozenset(
            {"js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro", "css", "json"}
        ),
        _SCRIPT,
    ),
    (frozenset({"go"}), _GO),
    (frozenset({"rs"}), _RUST),
    (frozenset({"sh", "bash", "zsh", "ksh", "bats"}), _SHELL),
    (frozenset({"java", "kt", "kts", "scala", "groovy"}), _JVM),
    (frozenset({"cs", "vb"}), _SHARP),
    (frozenset({"c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"}), _C),
    (frozenset({"rb", "rake"}), _RUBY),
    (frozenset({"php"}), _PHP),
    (frozenset({"swift"}), _SWIFT),
    (frozenset({"yml", "yaml", "tf", "dockerfile"}), _SETTINGS),
)
