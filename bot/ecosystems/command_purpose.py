"""What commands are for, and how the names of scripts, targets and sessions show it."""

from __future__ import annotations

import re
from enum import IntEnum


class Use(IntEnum):
    """What a command is for. Of several commands, the highest decides."""

    SYSTEM = 1
    INSTALL = 2
    BUILD = 3
    LINT = 4
    TYPES = 5
    TESTS = 6


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a list that is separated by semicolons."""
    return tuple(entry for one in text.split(";") if (entry := " ".join(one.split())))


def uses(**groups: str) -> dict[str, Use | None]:
    """Return a table for `Ecosystem.uses`: `uses(TESTS="pytest; coverage run", NONE="ruff format")`."""
    return {
        command: Use[name] if name != "NONE" else None
        for name, commands in groups.items()
        for command in listed(commands)
    }


_BY_NAME = tuple(
    (use, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for use, pattern in (
        (
            Use.TYPES,
            r"""mypy | pyright | typing | (vue-)?tsc | typescript | types | check-?types?
            | ((ts|check|test|lint|validate)[-:_]?)?(type-?check|types?|ts|tsc|dts) | ts[-:]check""",
        ),
        (
            Use.LINT,
            r"""lint([-:_]\w+)? | eslint | prettier | standard | xo | oxlint | biome | style | vet | ruff | flake8
            | clippy | pre-commit | (fmt|format|style)[-:_]?check
            | (check|test)[-:_]?(fmt|format|lint|style|eslint|prettier)""",
        ),
        (
            Use.TESTS,
            r"""(run[-_])?tests? | (run[-_])?unit([-:_]?tests?)? | tests?[\w:.-]+ | specs? | check | verify
            | ci([-:_]tests?)? | cov(erage)? | richtest | py[\d.]*([-:_].*)? | pytest | vitest | jest | mocha""",
        ),
        (Use.BUILD, r"all | (build|compile|prepare|generate|configure)([-:_].*)?"),
    )
)
_OTHER = re.compile(
    r"(?i)docs?\b|site\b|publish|release|deploy|bench|e2e|playwright|cypress|browser|perf\b|fuzz|watch|storybook|preview|"
    r"serve|start\b|fix\b|docker|integration|nightly|audit|upload|dist\b|wasm|deno|update"
)


def use_of_name(name: str) -> Use | None:
    """Classify a script, target or session by its name."""
    return (
        next((use for use, pattern in _BY_NAME if pattern.fullmatch(name)), None)
        if not is_other_name(name)
        else None
    )


def is_other_name(name: str) -> bool:
    """Whether a script of this name checks no change, or needs more than a sandbox has."""
    return bool(_OTHER.search(name))
