"""Run one tool exactly as the agent would, in the sandbox and under the policy, and print its result as JSON."""

import argparse
import os
from pathlib import Path

from bot.cli.options import add_flag, add_path, add_sandbox, add_value
from bot.session.local.run_tool import run_tool

EXAMPLE = """slash-agent tool grep '{"pattern": "def main"}' --root ."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_value(parser, "tool", "NAME", "view, ls, glob, grep, edit, write, patch, bash, todo or skill")
    add_value(parser, "arguments", "JSON", "the arguments, as a model sends them")
    add_path(parser, "--root", "DIR", "the folder (default: here)", default=Path())
    add_path(parser, "--policy", "FILE", "default: the built-in policy")
    add_sandbox(parser)
    add_flag(parser, "--assume-read", help="treat existing files as already read by the model")


def run(arguments: argparse.Namespace) -> None:
    text = run_tool(
        arguments.tool,
        arguments.arguments,
        arguments.root,
        os.environ,
        policy_file=arguments.policy,
        sandbox=arguments.sandbox,
        assume_read=arguments.assume_read,
    )
    print(text)
