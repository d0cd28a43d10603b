"""What the policy says to one tool call: pure, from the call's arguments alone.

The strictest match wins, whatever the order of the rules. If none matches, a command of the built-in list of
`bot.policy.dangerous` is denied and everything else is allowed: the sandbox and the gate are the boundary, rules state
intent, cost and manners. With nobody to ask, `ask` is `deny`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bot.contracts.request import Tier
from bot.policy.protected import ProtectedFiles, protected_files
from bot.policy.schema import DiffPolicy, Effect, Policy

if TYPE_CHECKING:
    from bot.policy.rule import Rule


BUILT_IN = "the built-in rule "
"""How the name of a rule begins that is not the policy's."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`rule` names the deciding rule and its place; it and `reason` are empty where no rule matched.

    `nearest` says in words the nearest thing that would be allowed, where there is one.
    """

    effect: Effect
    rule: str = ""
    reason: str = ""
    nearest: str = ""

    @property
    def allowed(self) -> bool:
        return self.effect is Effect.ALLOW

    @property
    def message(self) -> str:
        """The decision in a sentence or two, for the model and for people; empty where no rule matched."""
        if not self.rule:
            return ""
        says = {Effect.ALLOW: "allows", Effect.ASK: "asks about", Effect.DENY: "denies"}[self.effect]
        reason = f": {self.reason.rstrip('.')}" if self.reason else ""
        nearest = f" Nearest allowed: {self.nearest}." if self.nearest else ""
        return f"{self.rule} {says} this{reason}.{nearest}"


def decide(
    policy: Policy,
    tier: Tier,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    can_ask: bool = False,
    root: str = "",
) -> Decision:
    """The decision on a call of `tool`. `root` is the work tree as the tools see it, for absolute paths.

    With `can_ask` false, as in Actions, an `ask` comes out as `deny`, and its reason says so.
    """
    rules = [rule for rule in policy.rules if tier in rule.tiers]
    if not rules:
        return _built_in(policy, tool, arguments, root)
    from bot.policy import judge

    judged = judge.call(rules, tool, arguments, root)
    if judged is None:
        return _built_in(policy, tool, arguments, root)
    rule, nearest = judged
    if rule.effect is Effect.ASK and not can_ask:
        reason = "; ".join(
            filter(None, [rule.reason, "a person would have to be asked, and nobody is there"])
        )
        return Decision(Effect.DENY, rule.name, reason, nearest)
    return Decision(rule.effect, rule.name, rule.reason, nearest)


def _built_in(policy: Policy, tool: str, arguments: Mapping[str, Any], root: str) -> Decision:
    """What is said where no rule of the policy matches: dangerous commands are denied, everything else is allowed."""
    command = arguments.get("command")
    if tool != "bash" or not isinstance(command, str):
        return Decision(Effect.ALLOW)
    from bot.policy.dangerous import dangerous

    found = dangerous(command, root, policy.dangerous.allow)
    if found is None:
        return Decision(Effect.ALLOW)
    return Decision(Effect.DENY, f"{BUILT_IN}{found.name}", found.reason, found.nearest)


@dataclass(frozen=True, slots=True)
class WriteRules:
    """For the gate: from a path of the diff to why it may not be written, `None` where it may."""

    _rules: Sequence[Rule]
    _diff: DiffPolicy
    _protected: ProtectedFiles
    _approved: Collection[str] = ()

    def __call__(
        self, path: str, kind: Literal["text", "binary", "link"] = "text", written: str = ""
    ) -> str | None:
        """`kind` is what would be at `path`: of a deletion, text. `written` is the path's own name, where `path` is how
        a file system that ignores case reads it."""
        return self._protected(path) or self._forbidden(path, written) or self._unreadable(path, kind)

    def _forbidden(self, path: str, written: str) -> str | None:
        if not self._rules:
            return None
        from bot.policy import judge

        rules = self._rules
        if path in self._approved:
            rules = [rule for rule in rules if rule.effect is Effect.DENY]
        rule = judge.forbids_writing(rules, path, written)
        if rule is None:
            return None
        return f"{rule.name} does not let it be written" + (f": {rule.reason}" if rule.reason else "")

    def _unreadable(self, path: str, kind: str) -> str | None:
        if kind == "text":
            return None
        from bot.policy import globs

        key, what = ("links", "a symbolic link") if kind == "link" else ("binaries", "a binary file")
        if any(globs.matches(glob, path) for glob in getattr(self._diff, key)):
            return None
        return f"{what}, which a review does not show: `diff: {{{key}: [...]}}` of the policy lets them out"


def may_write(policy: Policy, tier: Tier, approved: Collection[str] = ()) -> WriteRules:
    """What the diff may hold: a command can write too, so what a rule refuses to `edit` and `write` is refused there.

    `approved` are the paths that a person, who was asked, let be written: of these only what is denied outright counts.
    """
    rules = [rule for rule in policy.rules if tier in rule.tiers and rule.effect.rank >= Effect.ASK.rank]
    return WriteRules(rules, policy.diff, protected_files(policy), approved)
