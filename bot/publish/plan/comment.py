"""The plan comment: what people read, and, hidden beneath it, the very plan that an approval carries out.

The plan is shown as the characters it has, all of them: nothing is approved that could not be read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from dataclasses import dataclass

from bot.contracts.errors import UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import MAX_PLAN, Plan, PlanStep
from bot.contracts.wording import count_of, money
from bot.github.values import Account
from bot.publish.body.footer import Links, footer
from bot.publish.bundle.schema import parse_plan
from bot.publish.text.shown import shown_code, shown_line
from bot.publish.thread.markers import PROGRESS, read_mark

PLAN = "plan"
"""The kind of the mark of a plan in a comment of its own; a progress comment that became one keeps its kind. Fields
beside the usual ones: `plan`, the hash, `text`, a hash of what is above the mark, and `carried`, the key of the
request that carried it out."""

_DATA = "<!-- slash-agent-plan-data "
_FOUND = re.compile(re.escape(_DATA) + r"([A-Za-z0-9+/=]{1,60000}) -->")
_SHOWN_HASH = 12


@dataclass(frozen=True, slots=True)
class PlanComment:
    """One comment of a thread, on lines or not; a plan's where its `hash` is not empty."""

    id: int
    author: Account
    body: str
    edited: bool
    lines: int

    @property
    def kind(self) -> str:
        return PLAN if read_mark(self.body, PLAN) else PROGRESS

    @property
    def fields(self) -> dict[str, str]:
        return dict(read_mark(self.body, self.kind) or {})

    @property
    def hash(self) -> str:
        return self.fields.get("plan", "")

    @property
    def carried_out_by(self) -> str:
        """The key of a request, empty for none. Before this version the field was `by`, which in a progress comment is
        who pays."""
        return self.fields.get("carried", "") or (self.fields.get("by", "") if self.kind == PLAN else "")

    @property
    def above_mark(self) -> str:
        return self.body.rpartition("<!--")[0]

    @property
    def as_posted(self) -> str:
        """What is above the mark, without the line that says what carried the plan out."""
        text = self.above_mark.replace("\r\n", "\n")
        return text.partition("\n\n")[2] if self.carried_out_by else text


def plan_text(plan: Plan, outcome: Outcome, links: Links) -> str:
    """The comment, without its mark."""
    how = (
        f"To carry out exactly this plan, once: `/agent approve {plan.hash[:_SHOWN_HASH]}`. For a different plan: "
        "`/agent plan` and what should change. If anybody edits this comment, the plan can no longer be approved."
    )
    parts = [shown_plan(plan), how, *(shown_line(note, 500) for note in outcome.notes)]
    parts.append(f"<sub>{_estimate(plan)}</sub>\n{footer(outcome, links)}")
    return "\n\n".join([*parts, f"{_DATA}{_packed(plan)} -->"])


def shown_plan(plan: Plan) -> str:
    """The plan as people read it, which depends on nothing but the plan: the comment begins with it."""
    parts = [
        f"**Plan: {shown_line(plan.title, _room(plan.title))}**",
        "\n".join(_step(number, step) for number, step in enumerate(plan.steps, 1)),
    ]
    if plan.risks:
        parts.append(f"**Risks.** {_lines(plan.risks, '')}")
    return "\n\n".join(parts)


def _step(number: int, step: PlanStep) -> str:
    indent = " " * len(f"{number}. ")
    paths = "".join(f"\\\n{indent}{shown_code(path, _room(path))}" for path in step.paths)
    return f"{number}. {_lines(step.text, indent)}{paths}"


def _lines(text: str, indent: str) -> str:
    """Each line as the characters it has, with a line's end that shows."""
    lines = [shown_line(line, _room(line)) for line in text.splitlines() if line.strip()]
    return f"\\\n{indent}".join(lines)


def _room(text: str) -> int:
    """Escaping makes a text longer, and a plan is shown whole: its length has a limit of its own."""
    return 4 * len(text) + 100


def _estimate(plan: Plan) -> str:
    guesses = (
        f"about {count_of(plan.estimate_turns, 'turn')}" if plan.estimate_turns else "",
        f"about {money(plan.estimate_usd)}" if plan.estimate_usd else "",
    )
    said = " and ".join(guess for guess in guesses if guess)
    return f"The model's estimate: {said}." if said else "The model gave no estimate."


def _packed(plan: Plan) -> str:
    return base64.b64encode(zlib.compress(plan.canonical.encode(), 9)).decode()


def read_plan(body: str) -> Plan | None:
    found = _FOUND.findall(body)
    if len(found) != 1:
        return None
    try:
        packed = base64.b64decode(found[0], validate=True)
        raw = zlib.decompressobj().decompress(packed, MAX_PLAN + 1)
        return parse_plan(raw, "the plan in the comment") if len(raw) <= MAX_PLAN else None
    except (binascii.Error, ValueError, zlib.error, UsageError):
        return None


def text_hash(text: str) -> str:
    return hashlib.sha256(lines_of(text).encode()).hexdigest()[:32]


def lines_of(text: str) -> str:
    """`text` as it compares: GitHub may change the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def short_hash(plan_hash: str) -> str:
    return f"`{plan_hash[:_SHOWN_HASH]}`"
