"""Which combinations of a job's matrix are taken, and in which order."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from bot.ecosystems.checker import Table, table
from bot.environment.expressions import UNKNOWN, evaluate

_MOST_COMBINATIONS = 256
_UNUSUAL = re.compile(
    r"windows|macos|mac-|clang|valgrind|sanitize|asan|pypy|graal|nightly|beta|alpha|dev|rc|[0-9]t$|arm|musl|i686|aarch"
)


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def legs_of(job: Table, values: Table) -> Iterator[Table]:
    """Yield the combinations of the job's matrix as values of `matrix.*`, Linux and the newest versions first."""

    def known(value: Any) -> Any:
        return evaluate(value, values) if isinstance(value, str) and "${{" in value else value

    matrix = known(table(job, "strategy").get("matrix"))
    if matrix is UNKNOWN:
        matrix = {"include": UNKNOWN}
    matrix = {str(key): known(value) for key, value in table(matrix).items()}
    unknown: Table = {"matrix": UNKNOWN} if matrix.get("include") is UNKNOWN else {}
    include, exclude = (
        [one for one in list_of(matrix.pop(name, ())) if isinstance(one, dict)][:_MOST_COMBINATIONS]
        for name in ("include", "exclude")
    )
    axes: dict[str, list[Any]] = {
        key: sorted(list_of(value), key=_rank) or [UNKNOWN]
        for key, value in matrix.items()
        if value is UNKNOWN or list_of(value)
    }
    plain = itertools.islice(itertools.product(*axes.values()), _MOST_COMBINATIONS) if axes else ()
    legs = [dict(zip(axes, combination, strict=True)) for combination in plain]
    legs = [leg for leg in legs if not any(leg.items() >= one.items() for one in exclude)]
    alone: list[dict[str, Any]] = []
    for one in include:
        own = [item for item in one.items() if item[0] in axes]
        same = [leg for leg in legs if all(leg.get(key) == value for key, value in own)]
        for leg in same:
            leg.update({key: value for key, value in one.items() if key not in leg})
        alone += [] if same else [one]
    legs += sorted(alone, key=lambda one: sum(_rank(value)[0] for value in one.values()))
    for leg in legs or [{}]:
        yield {**unknown, **dict(_flat("matrix", leg))}


def _flat(prefix: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth < 4:
        for key, inner in itertools.islice(value.items(), 40):
            yield from _flat(f"{prefix}.{key}", inner, depth + 1)
    else:
        yield prefix, value


def _rank(value: Any) -> tuple[int, tuple[int, ...]]:
    """Sort key: Linux and unit tests before others, final versions before others, newer before older ones."""
    text = str(value.get("os", value.get("name", "")) if isinstance(value, dict) else value).lower()
    if _UNUSUAL.search(text):
        return 2, ()
    version = re.search(r"v?\d+(\.(\d+|x))*$", text)
    newest = tuple(-int(part) for part in re.findall(r"\d+", version[0])) if version else ()
    is_usual = (version and version[0] == text) or re.search(
        r"ubuntu|linux|stable|latest|lts|jvm|\b(unit|tests?\b|py\d)", text
    )
    return (0 if is_usual else 1), newest
