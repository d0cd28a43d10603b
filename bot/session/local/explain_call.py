"""Explain what a policy decides on one tool call: the rule, and the gate."""

from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.contracts.globs import normalise
from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import SHELL
from bot.contracts.tools import ToolArguments
from bot.gate.path_rules import withholding
from bot.policy.decide import Decision, may_write
from bot.policy.rule import WRITING_TOOLS, Effect, patched_paths
from bot.policy.settings import Policy
from bot.policy.shell import parse_shell
from bot.session.context.profiles import profile_of_verb
from bot.session.tools.toolbox import Gatekeeper
from bot.verbs.registry import MODEL_VERBS


class CallExplanation(NamedTuple):
    """`grammar` is the parse of a shell command. `withheld` are paths that the gate keeps out of a change whatever a
    rule allows, each with the reason."""

    decision: Decision
    grammar: str = ""
    withheld: tuple[tuple[str, str], ...] = ()


def explain_call(
    policy: Policy, tier: Tier, tool: str, arguments: ToolArguments, verb: str | None, *, root: str
) -> CallExplanation:
    """Raises `UsageError` for a verb whose runs call no tools. Without a `verb` only the policy counts. `root` is the
    work tree, for absolute paths."""
    if verb is not None and verb not in MODEL_VERBS:
        raise UsageError(f"`{verb}` starts no model, so nothing calls a tool.")
    if verb is not None and verb not in policy.tiers[tier].verbs:
        allowed_verbs = ", ".join(sorted(policy.tiers[tier].verbs)) or "nothing"
        why = f"`{verb}` is not among what this tier may ask for: {allowed_verbs}"
        return CallExplanation(Decision(Effect.DENY, f"`tiers: {tier}: verbs`", why))
    profile = None if verb is None else profile_of_verb(verb)
    decision = Gatekeeper(policy, tier, root, lambda record: None, profile).decide(tool, arguments)
    withheld: list[tuple[str, str]] = []
    if tool in WRITING_TOOLS:
        named, forbids = arguments.get("path"), may_write(policy, tier)
        paths = [named] if isinstance(named, str) else patched_paths(arguments.get("patch"))
        plain = [path for path in map(normalise, paths) if path is not None]
        withheld = [(path, barred) for path in plain if (barred := withholding(path) or forbids(path))]
    return CallExplanation(decision, _grammar(tool, arguments), tuple(withheld))


def _grammar(tool: str, arguments: ToolArguments) -> str:
    command = arguments.get("command")
    if tool != SHELL or not isinstance(command, str):
        return ""
    parsed = parse_shell(command)
    if parsed.simple is not None:
        return "simple: " + ", ".join(f"`{' '.join(words)}`" for words in parsed.simple)
    commands = ", ".join(f"`{' '.join(words)}`" for words in parsed.seen if words)
    seen = f"; in sight for the other rules: {commands}" if commands else ""
    return f"opaque: no `allow` covers it{seen}"
