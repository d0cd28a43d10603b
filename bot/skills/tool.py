"""`skill`: the one tool that loads a skill. Its catalogue is frozen with the session; the text comes when it is called.

The result of a call is a line for people and the model. The instructions follow all results of that turn as a text of
their own, for the model alone, and what the skill pre-approves begins with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.intake.hygiene import visible
from bot.skills import front_matter
from bot.skills.catalogue import catalogue
from bot.skills.find import Held
from bot.skills.grants import ActiveGrants, read_grants
from bot.skills.shelf import Shelf, ShelfError
from bot.skills.skill import Skill

NAME = "skill"
MAX_BODY = 40_000
"""Characters of a skill's instructions that are put to the model, about 10,000 tokens: twice what the specification
recommends."""

MAX_LISTED = 50

_DESCRIPTION = """Load the instructions of a skill that fits the task.
{}"""

_CLOSING = re.compile(r"<(?=/\s*skill\b)", re.IGNORECASE)


def skill_spec(skills: Sequence[Skill]) -> ToolSpec:
    """The tool for these skills, at least one. The same skills give the same bytes."""
    return ToolSpec(
        name=NAME,
        description=_DESCRIPTION.format(catalogue(skills)),
        parameters={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    )


class Models(Protocol):
    """Which model a skill gets that asks for one."""

    def is_own(self, name: str) -> bool:
        """Whether the session's own is meant."""
        ...

    def refusal(self, name: str) -> str:
        """Why it does not get `name`, as a clause; empty where it does."""
        ...

    def begin(self, name: str) -> None:
        """`name` answers from here on, the session's own where that is meant or `name` was refused."""
        ...


class SkillTool:
    """The skills of one session. Names are looked up, never taken for a path."""

    def __init__(self, held: Sequence[Held], shelf: Shelf, grants: ActiveGrants, models: Models) -> None:
        self.spec = skill_spec([one.skill for one in held])
        self._held = {one.skill.name: one for one in held}
        self._shelf = shelf
        self._grants = grants
        self._models = models
        self._shown: set[str] = set()
        self._pending: dict[str, str] = {}
        self._active = ""

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox."""
        name = str(arguments["command"])
        held = self._held.get(name)
        if held is None:
            known = ", ".join(self._held)
            return ToolOutcome(f"There is no skill {name[:80]!a}. The skills are: {known}.", is_error=True)
        if name in self._pending:
            return ToolOutcome(f"The skill {name} is being loaded already; its instructions follow.")
        try:
            text = self._text(held)
        except ShelfError as error:
            return ToolOutcome(f"The skill {name} was not loaded: {error}. Go on without it.", is_error=True)
        notes = self._notes(held.skill)
        self._pending[name] = "" if name in self._shown else text
        said = (
            f"The skill {name} is loaded already; its instructions are above and hold."
            if name in self._shown
            else f"Loaded the skill {name}; its instructions follow."
        )
        granted = [grant.written for grant in read_grants(held.skill.allowed_tools).given]
        return ToolOutcome(
            " ".join([said, *notes]),
            metadata={
                "skill": name,
                "origin": held.skill.origin,
                "path": f"{held.place.name}/{held.skill.folder}",
                "characters": len(text),
                "pre_approved": granted,
                "notes": notes,
            },
        )

    def after_results(self) -> list[str]:
        """For the loop, once the turn's results are in the history: the instructions that were asked for. The last
        skill's grants and its model begin here, in place of any before."""
        pending, self._pending = self._pending, {}
        for name in pending:
            self._shown.add(name)
            self._active = name
            skill = self._held[name].skill
            self._grants.begin(name, read_grants(skill.allowed_tools).given)
            self._models.begin(skill.model)
        return [text for text in pending.values() if text]

    def end_turn(self) -> None:
        """No skill is being followed from here on."""
        self._active = ""

    def carried(self) -> tuple[str, list[str]]:
        """For a compaction: the instructions that are being followed, word for word, and the names of those that are in
        the history no more and may be loaded anew."""
        text = ""
        if self._active in self._shown:
            with suppress(ShelfError):  # then it may be loaded anew, which says what is wrong
                text = self._text(self._held[self._active])
        kept = {self._active} if text else set[str]()
        names, self._shown = sorted(self._shown - kept), kept
        return text, names

    def _text(self, held: Held) -> str:
        skill = held.skill
        folder = self._shelf.shown(skill.name)
        data = self._shelf.document(held).decode(errors="replace")
        body = visible(front_matter.split(data)[1]).strip()
        if len(body) > MAX_BODY:
            kept = body[:MAX_BODY].rpartition("\n")[0] or body[:MAX_BODY]
            line = data.replace("\r\n", "\n").count("\n") - body.count("\n") + kept.count("\n") + 1
            body = f"{kept}\n[cut here; to go on: view {folder}/{skill.document} from about line {line}]"
        parts = [f'<skill name="{skill.name}" folder="{folder}">', _CLOSING.sub("&lt;", body)]
        if skill.compatibility:
            parts.append(f"[made for: {_CLOSING.sub('&lt;', skill.compatibility)}]")
        parts += _listed(skill, folder)
        return "\n".join([*parts, "</skill>"])

    def _notes(self, skill: Skill) -> list[str]:
        """What comes of the model that the skill asks for."""
        if self._models.is_own(skill.model):
            return []
        asked = f"It asks for the model {skill.model[:80]!a}"
        if why := self._models.refusal(skill.model):
            return [f"{asked}, and does not get it: {why}."]
        return [f"{asked}, which answers until the turn ends or another skill is loaded."]


def _listed(skill: Skill, folder: str) -> list[str]:
    """The skill's own files by name, none of them read."""
    if not skill.files:
        return []
    names = [_CLOSING.sub("&lt;", ascii(file.path)[1:-1]) for file in skill.files]
    more = [f"[and {len(names) - MAX_LISTED} more]"] if len(names) > MAX_LISTED else []
    intro = f"Files of this skill, relative to {folder} (read-only): run scripts, read references, use assets by path."
    return ["", intro, *names[:MAX_LISTED], *more]
