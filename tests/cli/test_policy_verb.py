"""`slash-agent policy` as a person types it, and what it says held against what a run does."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli import policy
from bot.contracts.errors import UsageError
from bot.policy.schema import schema_text

Said = tuple[int, str]

POLICY = """\
rules:
  - effect: deny
    paths: [docs/**]
    except: [docs/index.md]
    reason: make docs writes these
  - effect: allow
    commands: [[git, [status, diff]], [pytest]]
  - effect: deny
    commands: [[git, push]]
    reason: publishing is done for you
"""
_RULE, _WHY = "rules[0] (agent.yml:2)", "make docs writes these"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.yml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def said(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """`said("check", "agent.yml")`: the exit code and what was printed, in this process."""
    monkeypatch.chdir(file.parent)

    def run(*words: str) -> Said:
        parser = argparse.ArgumentParser()
        policy.configure(parser)
        code = policy.run(parser.parse_args(words))
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def explained(said: Callable[..., Said]) -> Callable[..., str]:
    def run(*words: str) -> str:
        code, out = said("explain", "--file", "agent.yml", *words)
        assert code == 0
        return out

    return run


def test_a_check_of_a_valid_file(said: Callable[..., Said]):
    assert said("check", "agent.yml") == (0, "agent.yml: 3 rules, 0 checks, no problems\n")
    report = json.loads(said("check", "--json", "agent.yml")[1])
    assert (report["valid"], report["problems"]) == (True, [])


def test_a_check_for_programs_of_a_file_with_mistakes(said: Callable[..., Said], file: Path):
    file.write_text("budget: 5\nchekcs: []\n")
    code, out = said("check", "--json", "agent.yml")
    report = json.loads(out)
    assert (code, report["valid"]) == (2, False)
    assert report["problems"] == [
        {"line": 1, "column": 9, "message": "this should be a mapping of keys, found `5`"},
        {"line": 2, "column": 1, "message": "unknown key `chekcs`; the nearest known one is `checks`"},
    ]


def test_a_path_is_explained(explained: Callable[..., str]):
    assert explained("--tier", "maintainer", "--path", "docs/api.md").splitlines() == [
        f"deny: {_WHY}",
        f"rule: {_RULE}",
        "nearest allowed: `view` of docs/api.md",
        f"at the gate: docs/api.md is withheld: {_RULE} does not let it be written: {_WHY}",
    ]


def test_a_command_is_explained(explained: Callable[..., str]):
    ran = explained("--tier", "contributor", "--command", "git push > log")
    assert "rule: rules[2] (agent.yml:8)" in ran
    assert "grammar: opaque: no `allow` covers it; in sight for the other rules: `git push`" in ran
    assert "nearest allowed: `git status`" in ran


def test_a_built_in_rule_is_explained_with_how_to_lift_it(said: Callable[..., Said]):
    assert said("explain", "--command", "git push")[1].splitlines()[:4] == [
        "deny: what you changed is published for you when you are done",
        "rule: the built-in rule git-push",
        "nearest allowed: `git diff`",
        "to allow it: `dangerous: {allow: [git-push]}` in the policy",
    ]


def test_a_protected_path_is_the_gates_whatever_a_rule_says_and_that_is_said_first(
    explained: Callable[..., str],
):
    words = ("--tier", "maintainer", "--path", ".github/workflows/ci.yml")
    told = json.loads(explained(*words, "--json"))
    withheld = [{"path": ".github/workflows/ci.yml", "reason": "protected path: .github"}]
    assert (told["decision"], told["withheld"]) == ("allow", withheld)
    assert explained(*words).splitlines() == [
        "allow, but the gate withholds it: no rule matches, so the call is allowed",
        "at the gate: .github/workflows/ci.yml is withheld: protected path: .github",
    ]


def test_a_verb_that_only_reads_writes_nothing(explained: Callable[..., str]):
    ran = explained("--tier", "maintainer", "--verb", "review", "--json", "--path", "src/a.py")
    assert (json.loads(ran)["decision"], json.loads(ran)["rule"]) == ("deny", "the verb `review`")
    assert json.loads(ran)["reason"] == "it changes nothing"


def test_a_verb_that_is_not_the_tiers_is_refused_before_any_call(explained: Callable[..., str]):
    ran = explained("--tier", "contributor", "--verb", "fix", "--path", "src/a.py")
    assert ran.splitlines()[1] == "rule: `tiers: contributor: verbs`"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "Say what to explain"),
        (("bash",), "Say what to explain"),
        (("--command", "ls", "bash"), "leave them out"),
        (("--path", "a", "view", "{}"), "leave it out"),
        (("--verb", "stop", "--path", "a"), "starts no model"),
    ],
)
def test_what_cannot_be_explained_is_a_mistake(
    explained: Callable[..., str], words: tuple[str, ...], why: str
):
    with pytest.raises(UsageError, match=why):
        explained("--tier", "local", *words)


def test_the_schema_is_printed(said: Callable[..., Said]):
    assert said("schema") == (0, schema_text())
