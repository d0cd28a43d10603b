"""What a script, target or session of a project is for, by its name: tests, lint, types, build or something else."""

import re

from bot.ecosystems.record import Use

_BY_NAME = tuple(
    (use, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for use, pattern in (
        (
            Use.TYPES,
            r"""mypy | pyright | typing | (vue-)?tsc | typescript | types | check-?types?
            | ((ts|check|test|lint|validate)[-:_]?)?(type-?check|types?|ts|tsc|dts) | ts[-:]check | types?[-:]tests?""",
        ),
        (
            Use.LINT,
            r"""lint([-:_]\w+)? | eslint | prettier | standard | xo | oxlint | biome | style | vet | ruff | flake8
            | clippy | pre-commit | php(cs|md)([-:_]\w+)? | (fmt|format|style)[-:_]?check
            | (check|test)[-:_]?(fmt|format|lint|style|eslint|prettier)""",
        ),
        (
            Use.TESTS,
            r"""(run[-_])?tests? | (run[-_])?unit([-:_]?tests?)? | tests?[\w:.-]+ | specs? | check | verify
            | ci([-:_]tests?)? | cov(erage)? | richtest | py[\d.]*([-:_].*)? | pytest | vitest | jest | mocha
            | (?!build|compile|prepare|generate)\w[\w.-]*[-_:.]tests?""",
        ),
        (Use.BUILD, r"all | (build|compile|prepare|generate|configure)([-:_].*)?"),
    )
)
_OTHER = re.compile(
    r"(?i)docs?\b|site\b|publish|release|deploy|bench|profile|e2e|playwright|cypress|browser|perf\b|fuzz|watch|storybook|preview|"
    r"serve|start\b|fix\b|docker|integration|nightly|audit|upload|dist\b|wasm|deno|update"
)


def use_of_name(name: str) -> Use | None:
    """Classify a script, target or session by its name."""
    uses = (use for use, pattern in _BY_NAME if pattern.fullmatch(name))
    return None if is_other_name(name) else next(uses, None)


def is_other_name(name: str) -> bool:
    """Whether a script of this name checks no change, or needs more than a sandbox has."""
    return bool(_OTHER.search(name))
