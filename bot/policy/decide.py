"""Decide one tool call by the policy, from the call's arguments alone.

The strictest match wins, whatever the order of the rules. If none matches, a command of the built-in list of
`bot.policy.dangerous` is denied and everything else is allowed: the sandbox and the gate are the boundary, rules state
intent and cost. Without a person to answer, `ask` is `deny`.
"""

from collections.abc import Collection
from typing import NamedTuple

from bot.contracts.globs import matches
from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import SHELL
from bot.contracts.tools import ToolArguments
from bot.policy import matching
from bot.policy.dangerous import dangerous
from bot.policy.protected_files import Kind, MayWrite, ProtectedFiles
from bot.policy.rule import WRITING_TOOLS, CommandRule, Effect, PathRule
from bot.policy.settings import Policy

_DELETIONS = (
    "the change deletes more than half of the files: `diff: {deletions: true}` of the policy, or --allow-deletions of "
    "`slash-agent fix`, lets them go"
)
BUILT_IN = "the built-in rule "
"""Prefix of the name of a rule that is not the policy's."""


class Decision(NamedTuple):
    """`rule` is the name of the deciding rule; it and `reason` are empty if no rule matched. `nearest` describes the
    nearest alternative that is allowed; empty if there is none.
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
        """The decision in a sentence or two, for the model and for people; empty if no rule matched."""
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
    arguments: ToolArguments,
    *,
    can_ask: bool = False,
    root: str = "",
    outside: bool = False,
) -> Decision:
    """Return the decision on a call of `tool`. `root` is the work tree as the tools see it, for absolute paths;
    `outside`: commands run in a folder outside of it.

    With `can_ask` false, as in Actions, `ask` becomes `deny`, and its reason says so.
    """
    rules = [rule for rule in policy.rules if tier in rule.tiers]
    match = matching.call(rules, tool, arguments, root)
    if match is None:
        command = arguments.get("command") if tool == SHELL else None
        lifted = policy.dangerous.allow
        built_in = dangerous(command, root, lifted, outside=outside) if isinstance(command, str) else None
        if built_in is None:
            return Decision(Effect.ALLOW)
        return Decision(Effect.DENY, f"{BUILT_IN}{built_in.name}", built_in.reason, built_in.nearest)
    rule, nearest = match
    if rule.effect is Effect.ASK and not can_ask:
        nobody = "a person has to approve this, and there is no terminal"
        reason = f"{rule.reason}; {nobody}" if rule.reason else nobody
        return Decision(Effect.DENY, rule.name, reason, nearest)
    return Decision(rule.effect, rule.name, rule.reason, nearest)


def allows_commands(policy: Policy, tier: Tier) -> bool:
    """Whether a rule allows commands by name."""
    return any(
        isinstance(rule, CommandRule) and rule.effect is Effect.ALLOW and tier in rule.tiers
        for rule in policy.rules
    )


def may_write(
    policy: Policy, tier: Tier, approved: Collection[str] = (), *, deletions: bool = False
) -> MayWrite:
    """Return the rules for the diff. Commands can write, too, so a path that `edit` and `write` may not touch is
    refused.

    `approved` are the paths that a person approved: for these only `deny` rules count. `deletions`: a person approved
    the deletion of more than half of the files.
    """
    restricting = [rule for rule in policy.rules if tier in rule.tiers and rule.effect is not Effect.ALLOW]
    rules = [rule for rule in restricting if isinstance(rule, PathRule) and rule.tools & WRITING_TOOLS]
    protected = protected_files(policy)

    def refusal(path: str, kind: Kind = "text", written: str = "") -> str | None:
        if reason := protected(path):
            return reason
        for rule in rules:
            is_binding = path not in approved or rule.effect is Effect.DENY
            if is_binding and matching.covers_path(rule, path, written):
                return f"{rule.name} does not let it be written" + (f": {rule.reason}" if rule.reason else "")
        if kind == "deletion":
            return None if deletions or policy.diff.deletions else _DELETIONS
        key, what = ("links", "a symbolic link") if kind == "link" else ("binaries", "a binary file")
        if kind == "text" or any(matches(glob, path) for glob in getattr(policy.diff, key)):
            return None
        return f"{what}, which a review does not show: `diff: {{{key}: [...]}}` of the policy lets them out"

    return refusal


def protected_files(policy: Policy) -> ProtectedFiles:
    """Return the protected files: services' configurations, the policy, and the files of instructions that it names."""
    names = {name.casefold() for name in policy.agent.instructions}
    return ProtectedFiles(policy.diff.services, names, policy.source.casefold())
