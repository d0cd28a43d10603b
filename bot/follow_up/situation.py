"""The situation of a pull request at one moment, and the next step that it calls for. Values only."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from bot.contracts import request


class Kind(StrEnum):
    """What counts against the limits of one pull request. The names are keys of the policy's `follow_up`. All but
    `UPDATE`, which merges the base without a model, are rounds."""

    FIX = "fix"
    REVIEW = request.REVIEW
    CONFLICT = request.CONFLICT
    UPDATE = "update"


ROUNDS = (Kind.FIX, Kind.REVIEW, Kind.CONFLICT)


class Ended(StrEnum):
    """How a check ended, or that it did not. `LOST`: by the infrastructure, so it tells nothing about the change.
    `UNAPPROVED`: somebody with write access has to approve the workflow run."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    LOST = "lost"
    UNAPPROVED = "unapproved"


class Check(NamedTuple):
    """One check of the head. `run` is the id of its workflow run, 0 for a check of another app. `fingerprint` is
    its failure, whatever the times and numbers in its output. `on_merge_base` and `on_base_tip` are how the check ended
    there, `None` if it did not run. `flaky`: it both failed and passed on one commit of the base."""

    name: str
    ended: Ended
    required: bool = False
    url: str = ""
    run: int = 0
    fingerprint: str = ""
    on_merge_base: Ended | None = None
    on_base_tip: Ended | None = None
    base_url: str = ""
    flaky: bool = False


class Mergeable(StrEnum):
    UNKNOWN = "unknown"
    CLEAN = "clean"
    CONFLICT = "conflict"


class Spent(NamedTuple):
    """What was done for the pull request so far; only ever grows. `counts` are the rounds and updates of each kind,
    failed and empty ones included. `lost` counts rounds in a row that the infrastructure ended, `void` those whose head
    moved before they could publish. `done` is what is done once: heads whose jobs were run again, tips of the base that
    were merged, ids of review bots that had their round. `failures` are the head at which a round worked on a
    fingerprint, `runs` the Actions runs of rounds. `lines` is the size of the first diff, 0 if unknown. `bundles`
    counts the rounds whose bundles Actions keeps: no comment and no push can lower that."""

    counts: Mapping[str, int] = MappingProxyType({})
    usd: float = 0.0
    lost: int = 0
    void: int = 0
    done: frozenset[str] = frozenset()
    failures: Mapping[str, str] = MappingProxyType({})
    runs: frozenset[str] = frozenset()
    lines: int = 0
    bundles: int = 0

    def count(self, *kinds: Kind) -> int:
        return sum(self.counts.get(kind, 0) for kind in kinds)

    @property
    def rounds(self) -> int:
        return max(self.count(*ROUNDS), self.bundles)


class Situation(NamedTuple):
    """Everything that a decision depends on. `over` says why there is nothing to follow any more, as "merged".
    `stopped` is the reason of an earlier stop, empty while it is armed. `labelled`: it has the label that ends it.
    `running`: a round is under way for this head. `others` are commits on the branch by other accounts. `threads` has,
    for each unresolved thread and review that begins a round, the id of the listed bot that wrote last, 0 for a person.
    `unanswered` counts the threads in which people have to act. `ready`: people were told that this head is ready for
    review. `lines` is the size of the diff. `workflows_block`: the base changed a workflow file, which the token may
    not push."""

    number: int
    head: str
    base_tip: str
    over: str = ""
    stopped: str = ""
    labelled: bool = False
    running: bool = False
    others: tuple[str, ...] = ()
    mergeable: Mergeable = Mergeable.CLEAN
    checks: tuple[Check, ...] = ()
    threads: tuple[int, ...] = ()
    unanswered: int = 0
    bot_review_pending: bool = False
    approved: bool = False
    ready: bool = False
    lines: int = 0
    workflows_block: bool = False
    spent: Spent = Spent()


class Wait(NamedTuple):
    """Nothing to do until something changes. `why` is one clause; `who` acts next, empty if that is known."""

    why: str
    who: str = ""


class AskApproval(NamedTuple):
    """Workflow runs wait for somebody with write access; said once for a head."""

    runs: tuple[str, ...]


class Rerun(NamedTuple):
    """Run the failed jobs of these workflow runs again."""

    runs: tuple[int, ...]


class Update(NamedTuple):
    """Merge the tip of the base, which needs no model."""

    why: str


class StartRound(NamedTuple):
    """Start a run with a model: `checks` are to be fixed, `threads` to be answered."""

    kind: Kind
    checks: tuple[Check, ...] = ()
    threads: tuple[int, ...] = ()


class MarkReady(NamedTuple):
    """Mark it ready for review and request one, once."""


class Stop(NamedTuple):
    """Nothing more until somebody arms it again. `reason` is a sentence; `who` acts next."""

    reason: str
    who: str = "a maintainer"


Step = Wait | AskApproval | Rerun | Update | StartRound | MarkReady | Stop
