"""The recipe "To add a verb" of `bot/verbs/registry.py`, carried out in a copy of the tree: one file is written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fix_script import VIEW
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
from tests.support.repositories import sample_repository

ROOT = Path(__file__).parents[2]

KNOWN_EVERYWHERE = """
import json, sys
from bot.contracts.request import Actor, Request, Thread, Tier
from bot.events.command import parse_command
from bot.policy.load import load_policy
from bot.session.context.profiles import profile_of
from bot.session.event.instant_answers import help_text
sys.path.append(".ci")
from write_schema import verb_table

command = parse_command("/agent audit the parser --base main")
policy = load_policy("tiers: {outsider: {verbs: [audit]}}\\nmodel_settings: {verbs: {audit: {effort: low}}}")
actor, thread = Actor("ann", 1, Tier.CONTRIBUTOR), Thread(1, "t", "b", "ann", "u")
request = Request("audit", "x", actor, "octo/hello", "main", "", thread)
print(json.dumps({
    "verb": command.verb,
    "options": command.options,
    "problem": parse_command("/agent audti x").problem,
    "wrong option": parse_command("/agent audit --full").problem,
    "tiers": [tier for tier, limits in policy.tiers.items() if "audit" in limits.verbs],
    "help": help_text(request, policy),
    "read only": profile_of(request).read_only,
    "docs": verb_table(),
}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the verb `audit`, a copy of `explain` with other words."""
    root = tmp_path_factory.mktemp("recipe") / "tree"
    for name in ("bot", ".ci"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    verbs = root / "bot" / "verbs"
    text = (verbs / "explain.py").read_text("utf-8")
    text = text.replace("explains one repository", "audits one repository")
    text = text.replace('"explain why this fails"', '"audit the parser"').replace("explain", "audit")
    (verbs / "audit.py").write_text(text, "utf-8")
    return root


def in_tree(tree: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    everything = {
        "PATH": os.environ["PATH"],
        "HOME": str(tree.parent),
        "PYTHONPATH": str(tree),
        **environment,
    }
    return run_program([sys.executable, *arguments], cwd=tree, env=everything)


@pytest.mark.slow
def test_one_file_makes_a_verb_known_to_comments_help_policy_and_docs(tree: Path):
    ran = in_tree(tree, "-c", KNOWN_EVERYWHERE)
    assert ran.returncode == 0, ran.stderr
    known = json.loads(ran.stdout)
    assert (known["verb"], known["options"]) == ("audit", {"base": "main"})
    assert "Did you mean `/agent audit`?" in known["problem"]
    assert "`/agent audit` has no option" in known["wrong option"]
    assert set(known["tiers"]) == {"maintainer", "contributor", "bot", "outsider", "schedule", "local"}
    assert "- `/agent audit the parser` answers here" in known["help"]
    assert known["read only"]
    assert "| `audit` | answers here" in known["docs"]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_verb_is_a_command_and_its_run_answers(tree: Path, tmp_path: Path):
    assert "answer a question about a local checkout" in in_tree(tree, "-m", "bot", "--help").stdout
    assert "example: slash-agent audit --repo ." in in_tree(tree, "-m", "bot", "audit", "--help").stdout
    repo = sample_repository(tmp_path / "repo")
    with ModelServer([VIEW, Say("Nothing is wrong.")]) as server:
        words = ("-m", "bot", "audit", "--repo", str(repo), "--json", "the parser")
        ran = in_tree(tree, *words, **server.environment())
        system = json.dumps(server.requests[0].json["system"])
    assert ran.returncode == 0, ran.stderr
    outcome = json.loads(ran.stdout)["outcome"]
    assert (outcome["request"]["verb"], outcome["answer"]) == ("audit", "Nothing is wrong.")
    assert "a software engineer who audits one repository" in system
