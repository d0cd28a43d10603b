"""What the model is told of errors that its change brought: which texts are tried, and in which workshop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.plain_text import printable
from bot.run.folder import RunFolder
from bot.run.trees import Outfit
from bot.run.workshops import Workshops

if TYPE_CHECKING:
    from bot.gate.verdict import Verdict

_SUFFIXES = (".py", ".pyi", ".json", ".toml")
_LARGEST = 1_000_000
_MOST_BYTES = 16_000_000
_MOST_SHOWN = 10


def texts_to_try(checkout: Checkout, judged: Verdict) -> list[dict[str, str]]:
    """The changed files that can be judged: `path`, `after`, and `before` where the base has it."""
    paths = [file.path for file in judged.files if PurePosixPath(file.path).suffix.lower() in _SUFFIXES]
    after = blobs_at(checkout.git, judged.tree_sha, paths)
    before = blobs_at(checkout.git, checkout.base_sha, after)
    found: list[dict[str, str]] = []
    size = 0
    for path, content in after.items():
        size += len(content)
        if len(content) > _LARGEST or size > _MOST_BYTES:
            continue
        text = {"path": path, "after": content.decode("utf-8", "replace")}
        if path in before:
            text["before"] = before[path].decode("utf-8", "replace")
        found.append(text)
    return found


class TryInWorkshop:
    """Tries texts in a workshop of their own, over an empty tree: the agent's is closed, and its word on itself would
    be worth little. `say` takes a line where that cannot be done: the run goes on."""

    def __init__(
        self, workshops: Workshops, folder: RunFolder, cancel: CancelToken, say: Callable[[str], None]
    ) -> None:
        self._workshops = workshops
        self._folder = folder
        self._cancel = cancel
        self._say = say
        self._times = 0

    def __call__(self, texts: Sequence[Mapping[str, str]]) -> Sequence[str]:
        """One line for each text that has a new error, at most eleven."""
        self._times += 1
        name = f"errors-{self._times}"
        tree = self._folder.root / f"tree-{name}"
        tree.mkdir()
        try:
            with self._workshops.of_commands(name, tree, Outfit(), runs_nothing=True) as workshop:
                outcome = workshop.call("new_errors", {"files": [dict(text) for text in texts]}, self._cancel)
        except AgentError as error:
            self._say(f"the changed files could not be parsed: {error}")
            return ()
        lines = [printable(line) for line in outcome.content.splitlines() if line.strip()]
        left = len(lines) - _MOST_SHOWN
        return [*lines[:_MOST_SHOWN], *([f"and {left} more"] if left > 0 else [])]
