"""Print a completion script for a shell. It contains all verbs and options, so completion does not start Python.

bash: save it as ~/.local/share/bash-completion/completions/slash-agent

fish: save it as ~/.config/fish/completions/slash-agent.fish

zsh:  save it as _slash-agent in a folder of $fpath"""

import argparse
from pathlib import Path

import shtab

from bot.cli.main import VERBS, load_verb

EXAMPLE = "slash-agent completion bash"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> None:
    # One parser with every verb's; the command line itself imports only the verb that is called.
    whole = argparse.ArgumentParser(prog="slash-agent")
    verbs = whole.add_subparsers()
    for verb, summary in VERBS.items():
        parser = verbs.add_parser(verb, help=summary, description=summary)
        load_verb(verb).configure(parser)
        _complete_paths(parser)
    print(shtab.complete(whole, shell=arguments.shell))


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:  # argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_paths(below)
        elif action.type is Path:
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]  # which shtab reads
