"""The gate's verdict on the work tree of a run: when the model says that it is done, and at the end."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from bot.checkout.clone import Checkout
from bot.contracts.errors import AgentError, GateError
from bot.contracts.formatting import count_of, first_of
from bot.gate.judge import Verdict, judge_tree
from bot.policy.protected import MayWrite
from bot.session.context.run import Run
from bot.session.workspaces.agent_workspace import AgentWorkspace

_NAMED = 5
"""Files that are named in a note."""


@dataclass(slots=True)
class RunGate:
    """The gate over the work tree of one run. A verdict holds until the next workspace is started. `edited` are the
    paths that edit tools wrote, which grow while the run goes on."""

    run: Run
    may_write: MayWrite
    workspace: AgentWorkspace
    edited: Collection[str]
    _last: tuple[int, Verdict | GateError] | None = field(default=None, init=False)

    def verdict(self) -> Verdict | GateError:
        """The verdict on the tree as it is, once every process of the workspace has ended, or the gate's refusal."""
        try:
            self.workspace.close()
        except AgentError as error:
            # The checkpoint is incomplete; the tree is what counts, and every process is dead all the same.
            self.run.note(f"The last look for changed files failed: {error}")
        if self._last is None or self._last[0] != self.workspace.starts:
            verdict = or_refusal(
                lambda: judge_tree(
                    self.run.checkout,
                    may_write=self.may_write,
                    setup_files=self.workspace.trees.environment().setup_files,
                    holds_secret=self.run.redactor.holds_secret,
                    links=self.workspace.links,
                    edited=self.edited,
                )
            )
            self._last = (self.workspace.starts, verdict)
        return self._last[1]

    def final_verdict(self) -> tuple[Verdict | GateError, tuple[str, ...]]:
        """The last verdict, with sentences for people on what a run that only reads left in the tree: it is dropped."""
        verdict = self.verdict()
        if not self.run.profile.read_only:
            return verdict, ()
        verdict, notes = without_changes(verdict, self.run.checkout)
        self.run.note(*notes)
        return verdict, notes


def or_refusal(judge: Callable[[], Verdict]) -> Verdict | GateError:
    """Return the verdict of `judge`, or the gate's refusal."""
    try:
        return judge()
    except GateError as error:
        return error


def without_changes(
    verdict: Verdict | GateError, checkout: Checkout
) -> tuple[Verdict | GateError, tuple[str, ...]]:
    """The verdict on a tree that equals the base commit's, and notes on what a run that only reads changed."""
    unchanged = Verdict(checkout.base_tree(), b"", b"", (), ())
    if isinstance(verdict, GateError):
        what = "Commands of this run changed its work tree"
        return unchanged, (f"{what}, and that was thrown away ({verdict}).",)
    paths = [*(file.path for file in verdict.files), *(file.path for file in verdict.withheld)]
    if not paths:
        return unchanged, ()
    named = first_of([f"`{path}`" for path in paths], _NAMED)
    what = f"Commands of this run changed {count_of(paths, 'file')}"
    return unchanged, (f"{what}, and that was thrown away: {named}.",)
