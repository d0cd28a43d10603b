"""A secret that only the repository's own rules know (`detector: {rules: FILE}`) gets out by no door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from slash_forge import Forge
from tests.support.fix_script import EDITS, VIEW, shell
from tests.support.model_script import Call, Say, Turn
from tests.support.model_server import ModelServer
from tests.support.stage import Stage, open_stage

pytestmark = pytest.mark.bubblewrap

OWN = "ACME-" + "4711" * 3
RULES = "title = 'ours'\n[[rules]]\nid = 'acme-key'\nregex = '''ACME-[0-9]{12}'''\n"
POLICY = "version: 1\nchecks: ['true']\ndetector: {rules: .github/secrets.toml}\n"


@dataclass(frozen=True)
class Said:
    """Everything that a run and its publishing let out, by door."""

    stage: Stage
    log: str
    summary: str
    dry: str
    published: str


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Said]:
    """A run that says the secret wherever it can, and a bundle in which somebody wrote it once more on its way."""
    folder = tmp_path_factory.mktemp("own")
    with Forge() as forge:
        stage = open_stage(forge, folder / "stage")
        forge.commit(stage.repo, {".github/agent.yml": POLICY, ".github/secrets.toml": RULES})
        describe = Call("describe_change", {"title": f"Use {OWN}", "summary": f"Key {OWN}.", "notes": OWN})
        summary = folder / "summary.md"
        actions = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
        with ModelServer([VIEW, shell(f"echo {OWN}"), Turn(EDITS), describe, Say(OWN)]) as server:
            ran = stage.run(model=server, event=stage.ask(f"/agent fix it, with {OWN[:-1]}x"), **actions)
        assert ran.code == 0, ran.output
        outcome = stage.outcome()
        assert OWN not in json.dumps(outcome)
        outcome["description"]["summary"] = f"The key is {OWN}."
        outcome["reason"] = f"It ended with {OWN}."
        (stage.bundle / "outcome.json").write_text(json.dumps(outcome))
        dry = stage.publish("--dry-run", **actions)
        done = stage.publish(**actions)
        yield Said(stage, ran.output, summary.read_text(), dry.output, done.output)


def test_the_log_of_the_job_says_that_it_was_withheld(said: Said) -> None:
    assert OWN not in said.log
    assert "acme-key" in said.log


def test_no_summary_holds_it(said: Said) -> None:
    """Breaks: bot/github/actions.py "self.withhold(text)"."""
    assert OWN not in said.summary
    assert "acme-key" in said.summary


def test_a_dry_run_prints_what_would_be_written_without_it(said: Said) -> None:
    """Breaks: bot/github/transport.py "fields = self._filtered(path, body)"."""
    assert OWN not in said.dry
    assert "would " in said.dry
    assert "acme-key" in said.dry


def test_nothing_on_github_holds_it(said: Said) -> None:
    """Breaks: bot/gate/outbound.py "Detector(self._redactor, finder)"."""
    assert OWN not in said.published
    texts = [*said.stage.bot_comments(), *(f"{pull['title']}\n{pull['body']}" for pull in said.stage.pulls())]
    assert texts
    assert not [text for text in texts if OWN in text]
    assert "acme-key" in "\n".join(texts)


def test_a_commit_message_with_it_is_not_pushed(said: Said) -> None:
    (said.stage.bundle / "message.md").write_text(f"Use {OWN}\n")
    before = said.stage.branches()
    assert said.stage.publish().code == 7
    assert said.stage.branches() == before


def test_a_rule_file_that_is_gone_stops_publishing_and_says_so(said: Said, tmp_path: Path) -> None:
    said.stage.forge.commit(said.stage.repo, {".github/agent.yml": POLICY.replace("secrets.", "other.")})
    done = said.stage.publish()
    assert done.code != 0
    assert "names .github/other.toml under `detector: rules`, and there is no such file on main" in done.output
