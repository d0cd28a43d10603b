"""What a policy says to one tool call, for people: the deciding rule, what the model would be told, the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.agent.toolbox import Permission, denial
from bot.contracts.errors import UsageError
from bot.contracts.request import Tier, Verb
from bot.gate.rules import withholding
from bot.policy.decide import Decision, may_write
from bot.policy.globs import normalise
from bot.policy.patches import patched_paths
from bot.policy.rule import SHELL_TOOL, WRITING_TOOLS
from bot.policy.schema import Effect, Policy
from bot.policy.shell import parse_shell
from bot.run.profiles import MODEL_VERBS, profile_of_verb
from bot.run.tools import Gatekeeper


@dataclass(frozen=True, slots=True)
class Explained:
    """`told` is what the model would read in place of a result, empty for an allowed call. `grammar` is what the shell
    grammar makes of a command. `withheld` are paths that the gate keeps out of a change, each with why, whatever a rule
    says to the call."""

    decision: Decision
    told: str = ""
    grammar: str = ""
    withheld: tuple[tuple[str, str], ...] = ()


def explained(
    policy: Policy, tier: Tier, tool: str, arguments: Mapping[str, Any], verb: Verb | None = None
) -> Explained:
    """Raises `UsageError` for a verb whose runs call no tools. Without a `verb` only the policy counts."""
    if verb is not None and verb not in MODEL_VERBS:
        raise UsageError(f"`{verb}` starts no model, so nothing calls a tool.")
    if verb is not None and verb not in policy.tiers[tier].verbs:
        return Explained(_not_theirs(policy, tier, verb))
    profile = None if verb is None else profile_of_verb(verb)
    decision = Gatekeeper(policy, tier, "", lambda record: None, profile).decide(tool, arguments)
    told = "" if decision.allowed else denial(Permission(False, decision.rule, decision.message))
    return Explained(decision, told, _grammar(tool, arguments), _withheld(policy, tier, tool, arguments))


def _not_theirs(policy: Policy, tier: Tier, verb: Verb) -> Decision:
    theirs = ", ".join(sorted(policy.tiers[tier].verbs)) or "nothing"
    return Decision(
        Effect.DENY, f"`tiers: {tier}: verbs`", f"`{verb}` is not among what this tier may ask for: {theirs}"
    )


def _grammar(tool: str, arguments: Mapping[str, Any]) -> str:
    command = arguments.get("command")
    if tool != SHELL_TOOL or not isinstance(command, str):
        return ""
    parsed = parse_shell(command)
    if parsed.simple is not None:
        return "simple: " + ", ".join(f"`{' '.join(words)}`" for words in parsed.simple)
    seen = ", ".join(f"`{' '.join(words)}`" for words in parsed.seen if words)
    return "opaque: no `allow` covers it" + (f"; in sight for the other rules: {seen}" if seen else "")


def _withheld(
    policy: Policy, tier: Tier, tool: str, arguments: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    if tool not in WRITING_TOOLS:
        return ()
    named = arguments.get("path")
    paths = [named] if isinstance(named, str) else patched_paths(arguments.get("patch"))
    forbids = may_write(policy, tier)
    plain = [path for one in paths if (path := normalise(one)) is not None]
    return tuple((path, why) for path in plain if (why := withholding(path) or forbids(path)))
