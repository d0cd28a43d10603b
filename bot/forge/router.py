"""From a method and a path to the operation that answers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from bot.forge import errors
from bot.forge.call import Call, Reply

Operation = Callable[[Call], Reply]
Route = tuple[str, str, Operation]

_PARAMETER = re.compile(r"\{(\w+)(\+?)\}")


@dataclass(frozen=True, slots=True)
class Found:
    operation: Operation
    params: Mapping[str, str]


class Router:
    """Routes are tried in order. `{name}` matches one segment, `{name+}` several."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(method, _pattern(template), operation) for method, template, operation in routes]

    def find(self, method: str, path: str) -> Found:
        """Raises a 404 for a path nobody answers: that is what GitHub says to a wrong method, too."""
        for wanted, pattern, operation in self._routes:
            if wanted != method:
                continue
            match = pattern.fullmatch(path)
            if match:
                return Found(operation, {name: unquote(value) for name, value in match.groupdict().items()})
        raise errors.not_found()


def _pattern(template: str) -> re.Pattern[str]:
    parts = []
    end = 0
    for match in _PARAMETER.finditer(template):
        parts.append(re.escape(template[end : match.start()]))
        name, many = match.groups()
        parts.append(f"(?P<{name}>{'.+' if many else '[^/]+'})")
        end = match.end()
    parts.append(re.escape(template[end:]))
    return re.compile("".join(parts))
