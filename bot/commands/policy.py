"""Check a policy file, or say which rule decides one tool call and why."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.policy.decide import decide
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.schema import Policy

EXAMPLE = """slash-agent policy check .github/agent.yml
         slash-agent policy explain --tier maintainer bash '{"command": "git push"}'"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|explain")
    check = actions.add_parser("check", help="validate a policy file")
    check.add_argument(
        "file", type=Path, nargs="?", default=Path(POLICY_FILE), help=f"default: {POLICY_FILE}"
    )
    explain = actions.add_parser("explain", help="decide one tool call and say why")
    explain.add_argument(
        "--file", type=Path, default=Path(POLICY_FILE), metavar="FILE", help=f"default: {POLICY_FILE}"
    )
    explain.add_argument("--tier", choices=[tier.value for tier in Tier], required=True, help="who is asking")
    explain.add_argument("tool", metavar="TOOL", help="view, ls, glob, grep, edit, write, patch or bash")
    explain.add_argument("arguments", metavar="JSON", help="the call's arguments, as a model would send them")
    explain.add_argument("--json", action="store_true", help="print the decision as JSON")


def run(arguments: argparse.Namespace) -> ExitCode:
    policy = _read(arguments.file)
    if arguments.action == "check":
        print(_found(arguments.file, policy))
        return ExitCode.DONE
    decision = decide(policy, Tier(arguments.tier), arguments.tool, _object(arguments.arguments))
    if arguments.json:
        fields = {**asdict(decision), "decision": str(decision.effect)}
        fields.pop("effect")
        print(json.dumps(fields))
    else:
        print(f"{decision.effect}: {decision.reason or 'no rule matches, and then the call is allowed'}")
        for label, text in (("rule", decision.rule), ("nearest", decision.nearest)):
            if text:
                print(f"{label}: {text}")
    return ExitCode.DONE


def _found(file: Path, policy: Policy) -> str:
    if not policy.source:
        return f"There is no {file} here, so the built-in policy holds."
    return f"{file}: {count_of(policy.rules, 'rule')}, {count_of(policy.checks, 'check')}, no problems"


def _read(file: Path) -> Policy:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if file == Path(POLICY_FILE):
            return load_policy(None)
        raise UsageError(f"There is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error
    return load_policy(text, str(file))


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UsageError("The arguments must be a JSON object.")
    return value
