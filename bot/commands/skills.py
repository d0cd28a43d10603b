"""List the skills that the agent has here, or check skills against the Agent Skills specification."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.contracts.errors import ExitCode
from bot.contracts.wording import count_of
from bot.github.actions import Actions, json_text
from bot.skills.catalogue import catalogue
from bot.skills.check import check
from bot.skills.find import Found, Held, here
from bot.skills.skill import Judged, Skill
from bot.terminal.printer import Printer

EXAMPLE = """slash-agent skills
         slash-agent skills list --repo . --for-model
         slash-agent skills check .agents/skills"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", repo=Path(), json=False, for_model=False)
    actions = parser.add_subparsers(metavar="list|check")
    listing = actions.add_parser("list", help="the skills of this repository (default)", epilog=_example(1))
    listing.set_defaults(action="list")
    listing.add_argument(
        "--repo",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the repository (default: here, if it is one)",
    )
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print skills and notes as JSON")
    form.add_argument("--for-model", action="store_true", help="print the catalogue as the model sees it")
    checking = actions.add_parser(
        "check", help="check skills; each finding names its rule", epilog=_example(2)
    )
    checking.set_defaults(action="check")
    checking.add_argument("folder", type=Path, metavar="DIR", help="a skill, or a folder of skills")
    checking.add_argument("--json", action="store_true", help="print verdicts and findings as JSON")


def run(arguments: argparse.Namespace) -> ExitCode:
    if arguments.action == "list":
        return _list(here(arguments.repo), as_json=arguments.json, for_model=arguments.for_model)
    judged, notes = check(arguments.folder)
    for note in notes:
        Actions(os.environ, sys.stderr).print(note)
    if arguments.json:
        print(json_text([_verdict(one) for one in judged], indent=2))
    else:
        for one in judged:
            Actions(os.environ, sys.stdout).print(_in_words(one))
    return ExitCode.DONE if not notes and all(one.conforms for one in judged) else ExitCode.USAGE


def _example(line: int) -> str:
    return f"example: {EXAMPLE.splitlines()[line].strip()}"


def _list(found: Found, *, as_json: bool, for_model: bool) -> ExitCode:
    if as_json:
        print(json_text({"skills": [_in_json(held) for held in found.held], "notes": found.notes}, indent=2))
        return ExitCode.DONE
    if for_model:
        Actions(os.environ, sys.stdout).print(catalogue([held.skill for held in found.held]))
    else:
        _list_for_people(sorted((held.skill for held in found.held), key=lambda skill: skill.name))
    for note in found.notes:
        Actions(os.environ, sys.stderr).print(note)
    return ExitCode.DONE


def _list_for_people(skills: Sequence[Skill]) -> None:
    printer = Printer(sys.stdout, os.environ)
    width = max((len(skill.name) for skill in skills), default=0)
    for skill in skills:
        printer.row(skill.name, width, skill.description)
    if not skills:
        printer.line("There are no skills here.")


def _in_json(held: Held) -> dict[str, object]:
    return {
        "name": held.skill.name,
        "description": held.skill.description,
        "origin": held.skill.origin,
        "path": f"{held.place.name}/{held.skill.folder}",
        "files": [file.path for file in held.skill.files],
    }


def _verdict(judged: Judged) -> dict[str, object]:
    return {
        "folder": judged.folder,
        "conforms": judged.conforms,
        "loads": judged.skill is not None,
        "findings": [
            {
                "rule": finding.rule,
                "level": finding.level.name.lower(),
                "file": finding.file,
                "line": finding.line,
                "message": finding.message,
            }
            for finding in judged.findings
        ],
    }


def _in_words(judged: Judged) -> str:
    if judged.skill is None:
        verdict = "refused"
    elif judged.conforms:
        files = f", {count_of(judged.skill.files, 'file')} besides" if judged.skill.files else ""
        verdict = f"a skill{files}"
    else:
        verdict = "loads here, but is against the specification"
    lines = [f"{judged.folder}: {verdict}", *(f"  {finding}" for finding in judged.findings)]
    return "\n".join(lines)
