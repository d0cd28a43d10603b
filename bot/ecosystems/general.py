"""What belongs to no language: make and the like, linters of text, system packages."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.checker import PATH, Checker, by_key, by_line
from bot.ecosystems.record import (
    CLASSES,
    HOST,
    MODULES,
    Dependencies,
    Ecosystem,
    Files,
    Pin,
    Suite,
    listed,
    uses,
)
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Ends, ParsedTests, Runner, path_of

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")


def _checks(files: Files) -> Iterator[str]:
    text = next((files.text(name) or "" for name in _MAKEFILES if name in files.paths), "")
    targets = re.findall(r"^(test|check)\s*:(?!=)", text, re.MULTILINE)
    yield from [f"make {name}" for name in ("test", "check") if name in targets][:1]


_POINT = re.compile(r"( *)(ok|not ok)\b(?: +(\d+))?(?: +- +| +)?(.*)")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\b.*", re.IGNORECASE)
_PLAN = re.compile(r"TAP version 1.*|1\.\.(\d+)(?: .*)?")
_DEEPEST = 50


def tap(lines: Sequence[str], ends: Ends) -> ParsedTests | None:
    """A test point with subtests is not counted itself: it fails with them."""
    # Each with its depth. A point follows its subtests, which are then put on its own depth.
    points: list[tuple[int, str, str]] = []
    block: str | None = None
    seen = 0
    for line in lines:
        if block is not None:
            block = None if line == f"{block}..." else block
        elif line.strip() == "---":
            block = line[: line.index("-")]
        elif match := _POINT.fullmatch(line):
            seen += 1
            depth, described = min(len(match[1]) // 4, _DEEPEST), match[4] or f"test {match[3] or seen}"
            name = _DIRECTIVE.sub("", described).replace("\\#", "#").strip()
            start = len(points)
            while start and points[start - 1][0] > depth:
                start -= 1
            children = points[start:]
            points[start:] = [(depth, path_of((name, path)), state) for _, path, state in children]
            if not children or (match[2] != "ok" and all(state != FAILED for *_, state in children)):
                state = SKIPPED if _DIRECTIVE.search(described) else PASSED if match[2] == "ok" else FAILED
                points.append((depth, name, state))
    if not seen:
        return None
    tests = ParsedTests("TAP output", whole=not any(line.startswith("Bail out!") for line in lines))
    for _, name, state in points:
        tests.add(name, state)
    return tests


_shellcheck = by_key("comments", "file line column level code message", prefix="SC")
_BASH = r"(?P<path>[^:\n]+): line (?P<line>\d{1,9}): (?P<message>(?!`).*)$"
"""Without the line that quotes the source."""


ECOSYSTEM = Ecosystem(
    name="general",
    manifests=_MAKEFILES,
    uses=uses(
        SYSTEM="sudo; apt-get; apt; brew; apk; dnf; yum; choco; snap",
        LINT="""
            codespell; typos; yamllint; shellcheck; shfmt -d; actionlint; ansible-lint; markdownlint;
            markdownlint-cli2; hadolint; pre-commit; prek""",
        TESTS="bats; bazel test; act; prove; busted",
        BUILD="make; mkdir",
    ),
    scripts=listed("make; just; task; mage"),
    launchers=listed("time; exec; command; nice; env; xvfb-run; retry; timeout; dbus-run-session; bash; sh"),
    runs_no_test=re.compile(r"(^| )(-n|--dry-run|--just-print)( |$)"),
    checks=_checks,
    test="make test",
    tools={
        ".asdf": "ASDF_DATA_DIR",
        ".mise": "",
        ".local/share/mise": "MISE_DATA_DIR",
        ".ghcup": "",
        "hostedtoolcache": "",
    },
    pins=tuple(
        Pin(
            name,
            ".tool-versions",
            f"{folder}/shims",
            f"{folder}/installs/{{tool}}",
            "",
            f"{name} install {{tool}} {{version}}",
            r"^(?P<tool>[\w-]+)[ \t]+(?P<version>[\w.+-]+)",
        )
        for name, folder in (("asdf", ".asdf"), ("mise", ".local/share/mise"))
    ),
    runners=(Runner(tap, _PLAN),),
    counts=(r"(?P<ran>\d+) tests?, \d+ failures?(, \d+ skipped)?",),  # bats
    forms={"bash": by_line(_BASH), "shellcheck": _shellcheck},
    outline={
        **dict.fromkeys((".swift", ".dart"), CLASSES),
        **dict.fromkeys((".ex", ".exs", ".lua"), MODULES),
        **dict.fromkeys((".sh", ".bash"), r"(?:function\s+)?[\w:-]+\s*\(\)|function\s+\w"),
    },
    suites=(
        Suite(
            suffixes="swift ex exs dart lua sh bash pl pm",
            tests="test test_* *_test *_tests *_spec *Test *Tests",
            mixed="Makefile GNUmakefile makefile justfile Justfile",
            hash_comments=True,
        ),
        Suite(suffixes="bats t feature", tests="*", hash_comments=True),
    ),
    dependencies=Dependencies(
        locks={"*.lock": r'name = "([^"]+)"'},
        sources={"*.lock": rf'.*?\b(?:resolved|registry|source|remote|url|index)"?{HOST}'},
        usual="github.com",
    ),
    sensitive={
        "dependency manifest": "mix.exs package.swift pubspec.yaml",
        "lock file": "mix.lock package.resolved pubspec.lock flake.lock",
        # Source code and text that sets up or builds.
        "configuration": "*.config.* *.conf.* *.setup.* *.workspace.* *.mix.* build.* runtime.txt",
    },
    leftovers=(".DS_Store", "*.swp"),
    checkers=(
        Checker(
            "shellcheck",
            "-f json1",
            suffixes=(".sh", ".bash"),
            settings="**/.shellcheckrc **/shellcheckrc",
            hides=r"SC1\d{3}",
        ),
        Checker(
            "bash",
            "-c 'for file; do bash -n \"$file\"; done; exit 0' bash",
            PATH,
            suffixes=(".sh", ".bash"),
            together=True,
            display_command="bash -n",
        ),
    ),
)
