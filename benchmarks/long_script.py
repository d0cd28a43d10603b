"""What the scripted model of a long session says: every part of the agent's core is used, in rounds of 50 turns.

What it says depends on the turn alone, so that a run can be given just as many requests as it will need: then the
last one is masked. It counts so many bytes of a request as a token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.model_script import Call, Part, Say, ScriptRequest, Think, Tokens, Turn

ROUND = 50
ALL_OF_ITS_TURNS = 29
"""So many looks and one answer are all that a reading subagent has."""

SUMMARY = (
    "- Goal: say what the shapes are for.\n- Done: the shapes were listed and noted.\n- Next: go on listing."
)
_SKILLS = ("house-style", "write-tests", "docs-drift")
_AT_ONCE = 12
_NEW_TOKENS = 2_000
_LOOKS = re.compile(r"Look (\d+) times")
_SPILLED = re.compile(r"/[^\s:;,\"\]]*spill/[^\s:;,\"\]]+")


_CHANGES = 34
"""Turns of a script that has changed a file before its last one."""


class LongScript:
    """A script for the server. `turns` is how many requests the main conversation has, the last word included;
    `size` about how many bytes of output each of its ordinary turns has. With `plain` all of its turns are ordinary."""

    def __init__(self, turns: int, size: int, *, plain: bool = False, bytes_a_token: int = 4) -> None:
        self.turns = turns
        self.plain = plain
        self.bytes_a_token = bytes_a_token
        self.count = 0
        """Requests of the main conversation."""
        self._size = size

    @property
    def agents(self) -> tuple[int, ...]:
        """How many requests each subagent will send."""
        parts = [part for turn in range(1, self.turns) for part in self.parts_of_turn(turn)]
        prompts = [
            part.arguments["prompt"] for part in parts if isinstance(part, Call) and part.name == "task"
        ]  # type: ignore[index]
        return tuple(_looks(prompt) + 1 for prompt in prompts)

    @property
    def requests(self) -> int:
        """Of the main conversation and of all subagents; summaries are not counted."""
        return self.turns + sum(self.agents)

    def __call__(self, request: ScriptRequest) -> Turn:
        parts: Sequence[Part]
        if not request.tools:
            parts = (Say(SUMMARY),)
        elif "task" not in request.tools:
            parts = self._agent(request)
        else:
            self.count += 1
            parts = self.parts_of_turn(self.count, request.results[-1:])
        return Turn(tuple(parts), tokens=_counted(request.body, self.bytes_a_token))

    def parts_of_turn(self, turn: int, last: Sequence[str] = ()) -> Sequence[Part]:
        """What the main conversation's model answers to request number `turn`, having had the results `last`."""
        place = 0 if self.plain else turn % ROUND
        if turn >= self.turns:  # the hand-over ends a run that changed something
            if self.plain or self.turns < _CHANGES:
                return (Say("Done."),)
            return (Call("describe_change", {"title": "Note the shapes", "summary": "They are noted."}),)
        if not self.plain and turn == self.turns - 1:
            return (_todo(turn, "completed"),)
        # Leaves room for the conversation's end, which must be a turn of its own.
        replies: Mapping[int, Sequence[Part]] = {
            1: (Say("First a list."), _todo(turn, "in_progress")),
            3: (Call("skill", {"command": _SKILLS[turn // ROUND % len(_SKILLS)]}),),
            5: (_task(f"Group {turn}: Look 3 times."), _task(f"Folder {turn}: Look 2 times.")),
            8: (Call("bash", {"command": f"seq {turn} 60000"}),),
            9: (_find_in_spill(last, turn),),
            12: tuple(Call("view", {"path": _shape(turn + at), "limit": 4}) for at in range(_AT_ONCE)),
            20: (_task(f"All shapes, {turn}: Look {ALL_OF_ITS_TURNS} times."),),
            25: (_task(f"Note {turn}: Look 4 times."),),
            30: (Call("bash", {"command": f"echo failing {turn} >&2; exit 3"}),),
            33: (Call("write", {"path": f"notes/turn_{turn // ROUND}.txt", "content": "one\ntwo\nthree\n"}),),
            35: (Call("edit", _edit(turn)),),
            37: (Call("patch", {"patch": _patch(turn)}),),
            45: (_todo(turn, "completed"),),
        }  # fmt: skip
        return replies.get(place) or self._ordinary(turn)

    def _ordinary(self, turn: int) -> Sequence[Part]:
        lines = max(1, self._size // len(_line(turn, 100)))
        call = Call("bash", {"command": f"seq -f 'line %g of turn {turn} of a long session' {lines}"})
        if turn % 3 == 0:
            return (Think(f"Turn {turn} needs some thought.", signature=f"sig-{turn}"), Say("Listing."), call)
        return (call,)

    def _agent(self, request: ScriptRequest) -> Sequence[Part]:
        looked, prompt = len(request.results), first_words(request.body)
        if looked >= _looks(prompt):
            return (Say(f"{prompt} They are shapes."),)
        return (Call("view", {"path": _shape(looked), "offset": looked + 1, "limit": 20}),)


def _counted(body: Mapping[str, Any], bytes_a_token: int) -> Tokens:
    """As a vendor with a cache would count: nearly all of it was there before."""
    tokens = len(json.dumps(body)) // bytes_a_token
    new = min(tokens, _NEW_TOKENS)
    return Tokens(input=new, cache_read=tokens - new, output=50)


def first_words(body: Mapping[str, Any]) -> str:
    """The text that a conversation begins with, in any of the formats."""
    rows = body["messages"] if "messages" in body else body["input"]
    content = next(row["content"] for row in rows if row.get("role") == "user")
    return content if isinstance(content, str) else str(content[0]["text"])


def _looks(prompt: Any) -> int:
    match = _LOOKS.search(str(prompt))
    return int(match[1]) if match else 0


def _todo(turn: int, status: str) -> Call:
    items = [{"text": f"list the shapes of turn {turn}", "status": status}]
    items += [{"text": f"note part {part}", "status": "completed"} for part in range(2)]
    return Call("todo", {"items": items})


def _task(prompt: str) -> Call:
    return Call("task", {"prompt": prompt})


def _find_in_spill(last: Sequence[str], turn: int) -> Call:
    match = _SPILLED.search(last[0]) if last else None
    return Call("grep", {"pattern": f"^5{turn % 10}00$", "path": match[0] if match else "."})


def _shape(number: int) -> str:
    number %= 80
    return f"shapes/group_{number % 8}/shape_{number}.txt"


def _edit(turn: int) -> Mapping[str, str]:
    return {"path": f"notes/turn_{turn // ROUND}.txt", "old": "two", "new": f"two of {turn}"}


def _patch(turn: int) -> str:
    return "\n".join(
        [
            "*** Begin Patch",
            f"*** Update File: notes/turn_{turn // ROUND}.txt",
            "@@",
            " one",
            f"-two of {turn - 2}",
            f"+two and a half of {turn}",
            "*** End Patch",
        ]
    )


def _line(turn: int, number: int) -> str:
    return f"line {number} of turn {turn} of a long session\n"
