"""The gate's word on the work tree of a run: asked when the model says that it is done, and at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from bot.checkout.clone import Checkout
from bot.contracts import journal as lines
from bot.contracts.errors import AgentError, GateError
from bot.contracts.request import Tier
from bot.gate.redact import Redactor
from bot.policy.decide import may_write
from bot.policy.schema import Policy
from bot.run.agent_workshop import AgentWorkshop
from bot.run.profiles import Profile
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.gate.tree import Verdict

Write = Callable[[lines.Record], None]


class Judging:
    """Every process of the workshop is dead when the gate looks. The same word again while none was started."""

    def __init__(
        self, checkout: Checkout, policy: Policy, tier: Tier, profile: Profile, trees: Trees,
        workshop: AgentWorkshop, redactor: Redactor, write: Write, approved: Collection[str],
        links: Mapping[str, str], edited: Collection[str],
    ) -> None:  # fmt: skip
        """`links` will be those in the tree that are ours: path and target; `edited` what edit tools wrote."""
        self.checkout = checkout
        self._may_write = may_write(policy, tier, approved)
        self._profile = profile
        self._trees = trees
        self._workshop = workshop
        self._redactor = redactor
        self.mask = redactor.text
        self._write = write
        self._links = links
        self._edited = edited
        self._said: tuple[int, Verdict | GateError] | None = None

    def now(self) -> Verdict | GateError:
        """The gate's word on the tree as it is; the error is the gate's refusal."""
        try:
            self._workshop.close()
        except AgentError as error:
            # The checkpoint is incomplete; the tree is what counts, and every process is dead all the same.
            self._write(lines.Note(f"The last look for changed files failed: {error}"))
        if self._said is None or self._said[0] != self._workshop.starts:
            self._said = (self._workshop.starts, self._ask_gate())
        return self._said[1]

    def at_the_end(self) -> tuple[Verdict | GateError, tuple[str, ...]]:
        """The last word, and sentences for people. In a run that only reads, whatever its commands left in the tree
        is thrown away, and that is said."""
        judged = self.now()
        if not self._profile.read_only:
            return judged, ()
        from bot.run.conclude import nothing_changed, thrown_away

        said = thrown_away(judged)
        for note in said:
            self._write(lines.Note(note))
        return nothing_changed(self.checkout.git, self.checkout.base_sha), said

    def _ask_gate(self) -> Verdict | GateError:
        from bot.gate.tree import judge_tree

        try:
            return judge_tree(
                self.checkout.git, self.checkout.base_sha, self.checkout.tree,
                may_write=self._may_write, passed_over=self._trees.made(),
                holds_secret=self._redactor.holds_secret, links=self._links, edited=self._edited,
            )  # fmt: skip
        except GateError as error:
            return error
