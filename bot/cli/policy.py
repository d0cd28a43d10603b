"""Check a policy file, print its JSON Schema, or print which rule decides a tool call and why."""

import argparse
import json
import os
import sys
from pathlib import Path

from bot.cli.options import add_flag, add_path, add_value
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.request import Tier
from bot.github.actions import Actions, json_text
from bot.parsing.yaml_document import Problem
from bot.policy.decide import BUILT_IN
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.rule import Effect
from bot.policy.schema import schema_text
from bot.session.local.explain_call import explain_call
from bot.verbs.registry import NAMES

EXAMPLE = """slash-agent policy check .github/agent.yml
         slash-agent policy explain --command 'git push'
         slash-agent policy explain --tier contributor --verb plan --path docs/api.md
         slash-agent policy explain bash '{"command": "git push"}'"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain|schema")
    check = actions.add_parser("check", help="validate a policy file")
    where = f"default: {POLICY_FILE}"
    check.add_argument("file", type=Path, nargs="?", default=Path(POLICY_FILE), help=where)
    add_flag(check, "--json", help="print problems as JSON")
    explain = actions.add_parser("explain", help="print the decision on one tool call and its reason")
    add_path(explain, "--file", "FILE", where, default=Path(POLICY_FILE))
    explain.add_argument(
        "--tier",
        choices=[tier.value for tier in Tier],
        default=Tier.MAINTAINER.value,
        help="the tier of the actor (default: maintainer, as in your own checkout)",
    )
    explain.add_argument("--verb", choices=NAMES, help="the verb of the run (default: one that may write)")
    what = explain.add_mutually_exclusive_group()
    add_value(what, "--command", "LINE", "instead of TOOL and JSON: a shell command")
    what.add_argument("--path", help="instead of JSON: the path of a call of TOOL (default: edit)")
    add_value(explain, "tool", "TOOL", "view, ls, glob, grep, edit, write, patch or bash", nargs="?")
    add_value(explain, "arguments", "JSON", "the call's arguments, as a model sends them", nargs="?")
    add_flag(explain, "--json", help="print the decision as JSON")
    actions.add_parser("schema", help="print the file's JSON Schema, for editors and other programs")


def run(arguments: argparse.Namespace) -> ExitCode:
    if arguments.action == "schema":
        sys.stdout.write(schema_text())
        return ExitCode.DONE
    if arguments.action == "check":
        return _check(arguments.file, as_json=arguments.json)
    return _explain(arguments)


def _check(file: Path, *, as_json: bool) -> ExitCode:
    text, problems = _read(file), tuple[Problem, ...]()
    text_out = f"There is no {file} here, so the built-in policy holds."
    try:
        if text is not None:
            policy = load_policy(text, str(file))
            rules, checks = count_of(policy.rules, "rule"), count_of(policy.checks, "check")
            text_out = f"{file}: {rules}, {checks}, no problems"
    except PolicyError as error:
        if not as_json:
            raise
        problems = tuple(error.problems)
    if as_json:
        listed = [one._asdict() for one in problems]
        text_out = json_text({"file": str(file), "valid": not problems, "problems": listed})
    _say(text_out)
    return ExitCode.USAGE if problems else ExitCode.DONE


def _explain(arguments: argparse.Namespace) -> ExitCode:
    tool, call = _call(arguments)
    folder, text = arguments.file.resolve().parent, _read(arguments.file)
    # The repository of a policy file, or the folder that it lies in.
    root = folder.parent if folder.name == Path(POLICY_FILE).parent.name else folder
    policy = load_policy(text, str(arguments.file))
    explanation = explain_call(
        policy, Tier(arguments.tier), tool, call, arguments.verb or None, root=str(root)
    )
    decision = explanation.decision
    if arguments.json:
        fields = {
            "decision": str(decision.effect),
            "rule": decision.rule,
            "reason": decision.reason,
            "nearest": decision.nearest,
            "grammar": explanation.grammar,
            "withheld": [{"path": path, "reason": why} for path, why in explanation.withheld],
        }
        _say(json_text(fields))
        return ExitCode.DONE
    without = "the rule gives no reason" if decision.rule else "no rule matches, so the call is allowed"
    held = explanation.withheld and decision.effect is Effect.ALLOW
    _say(f"{decision.effect}{', but the gate withholds it' if held else ''}: {decision.reason or without}")
    withheld = "; ".join(f"{path} is withheld: {why}" for path, why in explanation.withheld)
    lifted = ""
    if decision.rule.startswith(BUILT_IN):
        lifted = f"`dangerous: {{allow: [{decision.rule.removeprefix(BUILT_IN)}]}}` in the policy"
    for label, text in (
        ("rule", decision.rule),
        ("nearest allowed", decision.nearest),
        ("to allow it", lifted),
        ("grammar", explanation.grammar),
        ("at the gate", withheld),
    ):
        if text:
            _say(f"{label}: {text}")
    return ExitCode.DONE


def _call(arguments: argparse.Namespace) -> tuple[str, dict[str, object]]:
    if arguments.command is not None:
        if arguments.tool:
            raise UsageError("--command takes the place of TOOL and JSON: leave them out.")
        return "bash", {"command": arguments.command}
    if arguments.path is not None:
        if arguments.arguments:
            raise UsageError("--path takes the place of JSON: leave it out.")
        return arguments.tool or "edit", {"path": arguments.path}
    if not arguments.tool or arguments.arguments is None:
        raise UsageError("Say what to explain: --command LINE, --path PATH, or TOOL and JSON.")
    try:
        value = json.loads(arguments.arguments)
    except ValueError as error:
        raise UsageError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UsageError("The arguments must be a JSON object.")
    return arguments.tool, value


def _read(file: Path) -> str | None:
    """The text of a policy file; `None` without the usual one."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if file == Path(POLICY_FILE):
            return None
        raise UsageError(f"There is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error


def _say(text: str) -> None:
    """A policy may be a stranger's: nothing of it is a command to the runner."""
    Actions(os.environ, sys.stdout).print(text)
