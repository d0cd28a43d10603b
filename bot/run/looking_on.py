"""The language servers of a run, seen from the supervisor: what the agent's tool host is told of them, and what it says
of problems, which goes into the journal and the outcome."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.agent.journal import Journal
from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.contracts import journal as lines
from bot.contracts.problems import ServerUse
from bot.contracts.servers import LANGUAGE_SERVERS
from bot.contracts.tools import ToolOutcome
from bot.contracts.wire import WireError
from bot.policy.schema import DiagnosticsPolicy
from bot.run.agent_workshop import CallPlace
from bot.run.server_terms import ServerTerms

if TYPE_CHECKING:
    from bot.gate.verdict import Verdict
    from bot.workshop.client.diagnosed import Standing

FIELD = "diagnostics"
"""Of a result's metadata."""

_MOST_SAID = 200
"""Keys of sentences that are said once; there are a few a server."""

_MOST_ERRORS = 20
_LONGEST_ERROR = 600

_UNREADABLE = "What the tool host said of problems in code could not be read: {}."


def asked_of(
    wanted: DiagnosticsPolicy, terms: ServerTerms, said: Collection[str] = (), *, again: bool = False
) -> dict[str, Any] | None:
    """What a tool host is told; `None` where nothing looks on. `said` was said in this run already; `again` where
    another host worked on the tree before."""
    if wanted.off:
        return None
    servers = {name: {"command": one.command, "off": one.off} for name, one in wanted.servers.items()}
    return {
        "wait": wanted.wait, "servers": servers, "said": sorted(said), "again": again,
        "only_ours": terms.only_ours, "refused": dict(terms.refused),
    }  # fmt: skip


class LookingOn:
    """`wanted` is `None` where nothing is to look on; `terms` says which programs may. One a run; its workshops follow
    one another."""

    def __init__(
        self,
        wanted: DiagnosticsPolicy | None,
        journal: Journal,
        terms: Callable[[], ServerTerms] = ServerTerms,
    ) -> None:
        self._wanted = wanted
        self._journal = journal
        self._terms = terms
        self._since = 0
        self._said: set[str] = set()
        self._before: dict[str, ServerUse] = {}
        self._uses: dict[str, ServerUse] = {}
        self._standing: tuple[Standing, ...] = ()

    def asked(self, number: int) -> Mapping[str, Any] | None:
        """What the n-th tool host over the agent's tree is told; `None` where nothing looks on."""
        self._before, self._uses, self._standing = self._together(), {}, ()
        asked = self._wanted and asked_of(self._wanted, self._terms(), self._said, again=number > 0)
        self._since = self._since or time.time_ns()
        return {**asked, "since": self._since} if asked else None

    def hear(self, place: CallPlace | None, outcome: ToolOutcome) -> ToolOutcome:
        """Journal what was found in what a call changed, and take it out of the call's metadata."""
        said = outcome.metadata.get(FIELD)
        if said is None:
            return outcome
        from bot.workshop.client.diagnosed import diagnosis  # not before the first request

        metadata = {name: value for name, value in outcome.metadata.items() if name != FIELD}
        outcome = replace(outcome, metadata=metadata)
        try:
            found = diagnosis(said)
        except WireError as error:
            self._journal.write(lines.Note(_UNREADABLE.format(error)))
            return outcome
        # The host may be anybody's by now: what it says without end is not kept and sent on without end.
        self._said.update(found.said[: max(_MOST_SAID - len(self._said), 0)])
        self._uses = {use.name: use for use in found.servers}
        if place is not None:
            record = lines.Diagnosed(
                place.turn, place.call_id, found.tools, found.new, found.new_count, found.fixed, found.hidden,
                found.waited, found.note,
            )  # fmt: skip
            self._journal.of(place.agent).write(record)
        return outcome

    def ended(self, metadata: Mapping[str, Any]) -> None:
        """What a tool host says at its end."""
        if not metadata:
            return
        from bot.workshop.client.diagnosed import standing

        try:
            self._standing, uses = standing(metadata)
        except WireError as error:
            self._journal.write(lines.Note(_UNREADABLE.format(error)))
            return
        self._uses = {use.name: use for use in uses}

    def servers(self) -> tuple[ServerUse, ...]:
        """Over the whole run."""
        return tuple(use for name in LANGUAGE_SERVERS if (use := self._together().get(name)) is not None)

    def errors_in(self, checkout: Checkout, judged: Verdict, told: Sequence[str]) -> list[str]:
        """A line for each new error that stands in a file of the change just as it is there; not of those `told`, and
        no more than a reader has use for: the host counts them."""
        there = {file.path for file in judged.files}
        named = {line.partition(":")[0] for line in told}
        wanted = [one for one in self._standing if one.path in there and one.path not in named]
        contents = blobs_at(checkout.git, judged.tree_sha, [one.path for one in wanted])
        found = [
            error[:_LONGEST_ERROR]
            for one in wanted
            if one.path in contents and hashlib.sha256(contents[one.path]).hexdigest() == one.sha256
            for error in one.errors
        ]
        left = len(found) - _MOST_ERRORS
        return [*found[:_MOST_ERRORS], *([f"and {left} more"] if left > 0 else [])]

    def _together(self) -> dict[str, ServerUse]:
        both = dict(self._before)
        for name, use in self._uses.items():
            before = both.get(name)
            if before is not None:
                use = replace(
                    use,
                    first_answer=before.first_answer or use.first_answer,
                    asked=before.asked + use.asked,
                    waited=before.waited + use.waited,
                    memory=max(before.memory, use.memory),
                    version=use.version or before.version,
                )
            both[name] = use
        return both
