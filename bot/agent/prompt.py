"""Render the prompt files under `prompts/`: strictly, once a session, without time or randomness in the prefix."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from bot.contracts.tools import ToolSpec

_FOLDER = Path(__file__).parent / "prompts"
_NAME = re.compile(r"\$(\w+)")


class PromptError(Exception):
    """A prompt file uses a name without a value: a bug of ours."""


def render(name: str, **values: str) -> str:
    """Return the prompt file `name` with `$name` replaced. Raises `PromptError` for a name without a value."""
    return _filled(prompt_text(name), name, values)


def prompt_text(name: str) -> str:
    """Return the prompt file `name` as it is written, for `system_prompt`."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def system_prompt(text: str, tools: Iterable[ToolSpec]) -> str:
    """Return the system text. It may name only tools of the session (S-100).

    A name that is no tool is a file under `parts/`. If such a part names a tool that the session lacks, the
    file `..._without` replaces it.
    """
    named = {tool.name: f"`{tool.name}`" for tool in tools}
    return _with_parts(text, "of the system", named)


def new_marker() -> str:
    """Return a random marker that no author of the thread can know. Use one a session."""
    return os.urandom(8).hex()


def _with_parts(text: str, name: str, tools: Mapping[str, str]) -> str:
    values = dict(tools)
    for used in set(_NAME.findall(text)) - tools.keys():
        if _part_file(used).exists():
            values[used] = _with_parts(_part(used, tools), used, tools)
    return _filled(text, name, values)


def _part(name: str, tools: Mapping[str, str]) -> str:
    text, alternative = prompt_text(f"parts/{name}"), f"{name}_without"
    missing = [used for used in _NAME.findall(text) if used not in tools and not _part_file(used).exists()]
    if missing and _part_file(alternative).exists():
        return prompt_text(f"parts/{alternative}").rstrip("\n")
    return text.rstrip("\n")


def _part_file(name: str) -> Path:
    return _FOLDER / "parts" / f"{name}.md"


def _filled(text: str, name: str, values: Mapping[str, str]) -> str:
    try:
        return Template(text).substitute(values)
    except (KeyError, ValueError) as error:
        raise PromptError(f"the prompt {name} cannot be rendered: {error}") from error
