"""Render the prompt files under `prompts/`: strictly, once a session, without time or randomness in the prefix."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from bot.contracts.tools import ToolSpec

_FOLDER = Path(__file__).parent / "prompts"


class PromptError(Exception):
    """A prompt file uses a name without a value: a bug of ours."""


def render(name: str, **values: str) -> str:
    """Return the prompt file `name` with `$name` replaced. Raises `PromptError` for a name without a value."""
    return _filled(prompt_text(name), name, values)


def prompt_text(name: str) -> str:
    """Return the prompt file `name` as it is written, for `system_prompt`."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def system_prompt(text: str, tools: Iterable[ToolSpec]) -> str:
    """Return the system text. It may name only tools of the session (S-100)."""
    return _filled(text, "of the system", _Names({tool.name: f"`{tool.name}`" for tool in tools}))


class _Names(dict[str, str]):
    """The session's tools. Any other name is a file under `parts/`, which may have names too. If it names a tool that
    the session lacks, the file `..._without` replaces it."""

    def __missing__(self, name: str) -> str:
        part, without = (_FOLDER / "parts" / f"{one}.md" for one in (name, f"{name}_without"))
        if not part.exists():
            raise KeyError(name)
        try:
            return Template(part.read_text("utf-8")).substitute(self).rstrip("\n")
        except KeyError:
            if not without.exists():
                raise
            return without.read_text("utf-8").rstrip("\n")


def new_marker() -> str:
    """Return a random marker that no author of the thread can know. Use one a session."""
    return os.urandom(8).hex()


def _filled(text: str, name: str, values: Mapping[str, str]) -> str:
    try:
        return Template(text).substitute(values)
    except (KeyError, ValueError) as error:
        raise PromptError(f"the prompt {name} cannot be rendered: {error}") from error
