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
from bot.publish.thread.markers import read_mark

PLAN = "plan"
"""The kind of the mark. Its fields beside the usual ones: `plan`, the hash, and `by`, the key of the request that
carried it out."""

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
    def fields(self) -> dict[str, str]:
        return dict(read_mark(self.body, PLAN) or {})

    @property
    def hash(self) -> str:
        return self.fields.get("plan", "")

    @property
    def above_mark(self) -> str:
        return self.body.rpartition("<!--")[0]


def plan_text(plan: Plan, outcome: Outcome, links: Links) -> str:
    """The comment, without its mark."""
    parts = [
        f"**Plan: {shown_line(plan.title, _room(plan.title))}**",
        "\n".join(_step(number, step) for number, step in enumerate(plan.steps, 1)),
    ]
    if plan.risks:
        parts.append(f"**Risks.** {_lines(plan.risks, '')}")
    parts.append(
        f"To have exactly this carried out, once: `/agent approve {plan.hash[:_SHOWN_HASH]}`. For another one: "
        "`/agent plan` and what should be different. A plan that was edited, be it by a ticked box, is not carried out."
    )
    parts += [shown_line(note, 500) for note in outcome.notes]
    parts.append(f"<sub>{_estimate(plan)}</sub>\n{footer(outcome, links)}")
    return "\n\n".join([*parts, f"{_DATA}{_packed(plan)} -->"])


def _step(number: int, step: PlanStep) -> str:
    paths = "".join(f"\n  {shown_code(path, _room(path))}" for path in step.paths)
    return f"- [ ] **{number}.** {_lines(step.text, '  ')}{paths}"


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
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return hashlib.sha256(lines.encode()).hexdigest()[:32]


def short_hash(plan_hash: str) -> str:
    return f"`{plan_hash[:_SHOWN_HASH]}`"
