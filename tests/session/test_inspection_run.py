"""A whole run whose change brings an error that a checker finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.agent.journal_file import read_journal
from bot.contracts import journal as lines
from bot.session.checks.inspection import inspection_of
from tests.session.conftest import Cli
from tests.session.test_fix import MODELS
from tests.support.fix_script import DESCRIBE
from tests.support.model_script import Call, Say
from tests.support.model_server import ModelServer
from tests.support.outcomes import REQUEST
from tests.support.repositories import make_repository
from tests.support.runs import make_run

pytestmark = pytest.mark.checkers

WRONG = "\n\ndef late(minutes: int) -> str:\n    return minutes + gone\n"
BASE = "def early(minutes: int) -> str:\n    return minutes\n"
# What a language server told the model of already is not told again. The checkers are named, since the project has no
# settings for them.
NO_SERVERS = "diagnostics:\n  checkers: [ruff, ty]\n  servers:\n    ty: {off: true}\n    ruff: {off: true}\n"


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_model_is_told_once_of_a_new_error_and_the_outcome_holds_both_sides(
    cli: Cli, tmp_path: Path
) -> None:
    repo = make_repository(tmp_path / "app", {"app.py": BASE, ".github/agent.yml": NO_SERVERS})
    out = tmp_path / "bundle"
    model = ModelServer(
        [
            Call("view", {"path": "app.py"}),
            Call("edit", {"path": "app.py", "old": "def early", "new": f"import json{WRONG}\n\ndef early"}),
            DESCRIBE,
            Say("It is right as it is."),
        ]
    )
    with model as server:
        ran = cli(
            "fix", "--repo", repo, "--model", MODELS[0], "--json", "--out", out, "add late", model=server
        )
        assert ran.code == 0, ran.err
        said = json.dumps(server.requests[-1].json["messages"][-1])
    assert ran.code == 0, ran.err
    assert "checkers report errors that were not there before" in said
    assert "app.py:4:22 ruff F821: Undefined name `gone`" in said
    assert "app.py:4:22 ty unresolved-reference" in said
    assert "app.py:8" not in said  # that error was there, and only moved
    assert "F401" not in said  # a warning
    assert len(server.requests) == 4

    found = {each["tool"]: each for each in ran.json["outcome"]["diagnostics"]}
    ruff, ty = found["ruff"], found["ty"]
    assert (ruff["new_count"], ruff["fixed_count"], ruff.get("remaining", 0)) == (2, 0, 0)
    assert (ty["fixed_count"], ty["remaining"]) == (0, 1)
    assert {each["path"] for each in (*ruff["new"], *ty["new"])} == {"app.py"}
    recorded = read_journal(out / "journal.jsonl")
    (evidence,) = recorded.records(lines.Evidence)
    assert [each.tool for each in evidence.diagnostics] == ["ruff", "ty"]
    assert [each.new_count for each in evidence.diagnostics] == [each["new_count"] for each in found.values()]


@pytest.mark.parametrize(
    ("verb", "policy", "some"),
    [
        ("fix", "", True),
        ("plan", "", False),
        ("review", "", False),
        ("explain", "", False),
        ("fix", "diagnostics: {off: true}\n", False),
        ("fix", "diagnostics: {checkers: none}\n", False),
        ("fix", "diagnostics: {checkers: [ty]}\n", True),
    ],
)
def test_who_only_reads_runs_no_checker_and_neither_does_a_policy_that_wants_none(
    tmp_path: Path, verb: str, policy: str, some: bool
) -> None:
    checkout: Any = SimpleNamespace(git=None, base_sha="")
    run = make_run(tmp_path, checkout, f"version: 1\n{policy}", request=replace(REQUEST, verb=verb))
    assert (inspection_of(run) is not None) == some
