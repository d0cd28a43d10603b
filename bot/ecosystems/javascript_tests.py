"""The test output of jest, vitest, mocha and Node's own runner. Of jest and vitest only failed tests are read:
others are named only on request."""

import json
import re
import shlex
from collections.abc import Callable, Sequence

from bot.ecosystems.checker import table
from bot.ecosystems.registry import unwrapped
from bot.ecosystems.test_command import MOST_PATHS, Related, assignments, plain_words
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Named, Runner, by_names, path_of

_MARKS = {"✓": PASSED, "✔": PASSED, "√": PASSED, "✖": FAILED, "﹣": SKIPPED, "-": SKIPPED}

_JEST_END = re.compile(r"Tests: +(?:\d+ [a-z]+, )*\d+ total")
_JEST_FILE = re.compile(r" ?(PASS|FAIL) +(\S+)(?: \([\d.]+ m?s\))?")
_JEST_BAD = re.compile(r"  ● (.+)")
_NOT_RUN = "Test suite failed to run"

_VITEST_END = re.compile(r" +Tests  +(?:\d+ [a-z]+(?: \| )?)+ \(\d+\)")
_VITEST_BAD = re.compile(r" FAIL  (\S.*)")

_MOCHA_END = re.compile(r"  \d+ (?:passing|failing|pending)(?: \(.*\))?")
_MOCHA_TEST = re.compile(r"( {2,})(?:(✓|✔|√|-)|(\d+\))) (.+?)(?: \(\d+ms\))?")
_SUITE = re.compile(r"( {2,})(\S.*)")

_NODE_FIGURE = re.compile(r"ℹ (?:pass|fail|cancelled|skipped|todo) \d+")
_NODE_LINE = re.compile(r"( *)([✔✖﹣▶]) (.*?)(?: \([\d.]+ms\))?((?: # (?:SKIP|TODO).*)?)")
_NODE_TIMED = re.compile(r".* \([\d.]+ms\)(?: #.*)?")

COUNTS = (
    r"(?P<ran>\d+) specs?, \d+ failures?(, \d+ pending specs?)?.*",
    r"  Total: +(?P<ran>\d+)",
    r"  (?:passing|failing): +\d+",  # tap-spec
    r"  (?P<passed>\d+) tests? passed",  # ava
    r"  (?P<failed>\d+) tests? failed",
    r"  (?P<skipped>\d+) tests? (?:skipped|todo)",
    r" *\d+ (?:pass|fail)",
    r"\d+ scenarios? \(.*\)",  # cucumber, in Ruby as well
    r"(ok|FAILED) \| \d+ passed.*? \| \d+ failed.*",
)


def jest(lines: Sequence[str]) -> Named:
    file = ""
    for line in lines:
        if match := _JEST_FILE.fullmatch(line):
            file = match[2].removeprefix("./")
        elif file and (match := _JEST_BAD.fullmatch(line)) and match[1] != "Console":
            own = match[1].split(" › ") if match[1] != _NOT_RUN else ()
            yield path_of((file, *own)), FAILED


def vitest(lines: Sequence[str]) -> Named:
    return ((match[1], FAILED) for match in filter(None, map(_VITEST_BAD.fullmatch, lines)))


def mocha(lines: Sequence[str]) -> Named:
    """The tests by the tree of the `spec` reporter, which is the default."""
    suites: dict[int, str] = {}
    for line in lines:
        if _MOCHA_END.fullmatch(line):
            suites = {}
            if "passing" in line:
                break
        elif match := _MOCHA_TEST.fullmatch(line):
            state = FAILED if match[3] else _MARKS[match[2]]
            yield path_of((*_above(suites, len(match[1])), match[4])), state
        elif match := _SUITE.fullmatch(line):
            suites[len(match[1])] = match[2]


def node(lines: Sequence[str]) -> Named:
    """By the tree of the `spec` reporter of `node --test`."""
    suites: dict[int, str] = {}
    for line in lines:
        if line.startswith("ℹ "):
            suites = {}
            continue
        if line == "✖ failing tests:":
            break
        match = _NODE_LINE.fullmatch(line)
        if match is None:
            continue
        depth, mark, name, directive = len(match[1]), match[2], match[3], match[4]
        if mark == "▶" and not _NODE_TIMED.fullmatch(line):
            suites[depth] = name
        elif suites.pop(depth, "") != name and mark != "▶":
            state = SKIPPED if "# SKIP" in directive or "# TODO" in directive else _MARKS[mark]
            yield path_of((*_above(suites, depth), name)), state


def _above(suites: dict[int, str], depth: int) -> list[str]:
    """The names of the suites around a test, of which `suites` has the last at each depth."""
    return [suites[other] for other in sorted(suites) if other < depth]


RUNNERS = (
    Runner(by_names("jest's output", jest, only_failed=True), _JEST_END),
    Runner(by_names("vitest's output", vitest, only_failed=True), _VITEST_END),
    Runner(by_names("mocha's output", mocha, sign="passing"), _MOCHA_END),
    Runner(by_names("node --test's output", node), _NODE_FIGURE),
)


_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SCRIPT_RUNNERS = ("jest", "vitest")
"""Runners that can select the tests related to a file."""
_NODE = "NODE_OPTIONS="
SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")


def related_command(command: str, words: list[str], related: Related) -> str:
    is_script = bool(words) and words[0] in _PACKAGE_RUNNERS
    script = _script(words, related.read) if is_script else ""
    runner = _runner(plain_words(script) if is_script else words)
    sources = [shlex.quote(f"./{path}") for path in related.changed if path.endswith(SUFFIXES)][:MOST_PATHS]
    if not runner or not sources:
        return ""
    assigned = [*assignments(command), *(one for one in assignments(script) if one.startswith(_NODE))]
    if is_script:
        program = ["npx", "--no-install", runner]
    else:
        program = [shlex.quote(word) for word in words[: len(words) - len(unwrapped(words)) + 1]]
    select = {"jest": "--passWithNoTests --findRelatedTests", "vitest": "related --run --passWithNoTests"}
    return " ".join([*assigned, *program, select[runner], *sources])


def _script(words: list[str], read: Callable[[str], str | None]) -> str:
    """Return the part of the script named in a command that runs tests, such as `vitest run` of `tsc && vitest run`;
    the whole script if no part is known, empty without a script."""
    rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "run-script")]
    try:
        scripts = table(json.loads(read("package.json") or "{}"), "scripts")
    except (ValueError, RecursionError):
        return ""
    script = scripts.get("test" if rest[:1] in (["t"], ["tst"]) else "".join(rest[:1]))
    if not isinstance(script, str):
        return ""
    parts = (part.strip() for part in re.split(r"&&|;", script))
    return next((one for one in parts if _runner(plain_words(one))), script)


def _runner(words: Sequence[str]) -> str:
    """Return the runner with which a command runs all tests, perhaps through npx; empty for any other command."""
    watches = not {"watch", "bench", "--watch", "--watchAll"}.isdisjoint(words)
    program = "".join(unwrapped(words)[:1])
    return program if program in _SCRIPT_RUNNERS and not watches else ""
