"""List the skills that are available to the agent, or check which folders are skills."""

import argparse
import os
import sys
from itertools import groupby
from pathlib import Path

from bot.cli.options import add_flag, add_path
from bot.cli.terminal.printer import Printer, one_line
from bot.contracts.errors import ExitCode
from bot.contracts.formatting import count_of
from bot.github.actions import Actions, json_text
from bot.skills.folders import SkillSet, checkout_skills
from bot.skills.read_source import check_folder
from bot.skills.skill import Skill
from bot.skills.tool import catalogue

EXAMPLE = """slash-agent skills
         slash-agent skills list --repo . --for-model
         slash-agent skills check .agents/skills"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", repo=Path(), json=False, for_model=False)
    actions = parser.add_subparsers(metavar="list|check")
    listing = actions.add_parser("list", help="the skills of this repository (default)", epilog=_example(1))
    listing.set_defaults(action="list")
    add_path(listing, "--repo", "DIR", "the repository (default: here, if it is one)", default=Path())
    form = listing.add_mutually_exclusive_group()
    add_flag(form, "--json", help="print skills and notes as JSON")
    add_flag(form, "--for-model", help="print the catalogue as the model sees it")
    checking = actions.add_parser(
        "check", help="check skills; each finding names its rule", epilog=_example(2)
    )
    checking.set_defaults(action="check")
    add_path(checking, "folder", "DIR", "a skill, or a folder of skills")
    add_flag(checking, "--json", help="print verdicts and findings as JSON")


def run(arguments: argparse.Namespace) -> ExitCode:
    if arguments.action == "list":
        skills = checkout_skills(arguments.repo, os.environ)
        return _list(skills, as_json=arguments.json, for_model=arguments.for_model)
    _, results, notes = check_folder(arguments.folder)
    for note in notes:
        Actions(os.environ, sys.stderr).print(note)
    verdicts = []
    for one in results:
        findings = [finding._asdict() for finding in one.findings]
        verdicts.append({"folder": one.folder, "loads": not findings, "findings": findings})
        files = f", {count_of(one.files, 'file')} besides" if one.files else ""
        verdict = "refused" if findings else f"a skill{files}"
        if not arguments.json:
            lines = (f"{one.folder}: {verdict}", *(f"  {finding}" for finding in one.findings))
            Actions(os.environ, sys.stdout).print("\n".join(lines))
    if arguments.json:
        print(json_text(verdicts, indent=2))
    return ExitCode.DONE if not notes and not any(one.findings for one in results) else ExitCode.USAGE


def _example(line: int) -> str:
    return f"example: {EXAMPLE.splitlines()[line].strip()}"


def _list(skills: SkillSet, *, as_json: bool, for_model: bool) -> ExitCode:
    if as_json:
        names = ("name", "description", "origin", "path")
        listed = [
            {name: getattr(skill, name) for name in names} | {"files": [file.path for file in skill.files]}
            for skill in skills.skills
        ]
        print(json_text({"skills": listed, "notes": skills.notes}, indent=2))
        return ExitCode.DONE
    if for_model:
        Actions(os.environ, sys.stdout).print(catalogue(skills.skills))
    else:
        # By origin, in order of precedence.
        printer, order = Printer(), ("repository", "user", "bundled")
        width = max((len(skill.name) for skill in skills.skills), default=0)
        ordered = sorted(skills.skills, key=lambda skill: (order.index(skill.origin), _source(skill)))
        for source, group in groupby(ordered, _source):
            printer.line(f"{source}:")
            for skill in group:
                printer.line(f"{skill.name:<{width}}  {one_line(skill.description)}")
        if not ordered:
            printer.line("There are no skills here.")
    for note in skills.notes:
        Actions(os.environ, sys.stderr).print(note)
    return ExitCode.DONE


def _source(skill: Skill) -> str:
    return "bundled" if skill.origin == "bundled" else skill.source.name
