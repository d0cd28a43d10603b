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
class PublishedTexts:
    """Everything that a run and its publishing let out, by door."""

    stage: Stage
    log: str
    summary: str
    dry: str
    published: str


@pytest.fixture(scope="module")
def published_texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedTexts]:
    """A run that says the secret wherever it can, and a bundle in which somebody wrote it once more on its way."""
    folder = tmp_path_factory.mktemp("own")
    with Forge() as forge:
        stage = open_stage(forge, folder / "stage")
        forge.commit(stage.repo, {".github/agent.yml": POLICY, ".github/secrets.toml": RULES})
        describe = Call("describe_change", {"title": f"Use {OWN}", "summary": f"Key {OWN}.", "notes": OWN})
        summary = folder / "summary.md"
        actions = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
        with ModelServer([VIEW, shell(f"echo {OWN}"), Turn(EDITS), describe, Say(OWN)]) as server:
            result = stage.run(model=server, event=stage.ask(f"/agent fix it, with {OWN[:-1]}x"), **actions)
        assert result.code == 0, result.output
        outcome = stage.outcome()
        assert OWN not in json.dumps(outcome)
        outcome["description"]["summary"] = f"The key is {OWN}."
        outcome["reason"] = f"It ended with {OWN}."
        (stage.bundle / "outcome.json").write_text(json.dumps(outcome))
        dry = stage.publish("--dry-run", **actions)
        publication = stage.publish(**actions)
        yield PublishedTexts(stage, result.output, summary.read_text(), dry.output, publication.output)


def test_the_log_of_the_job_says_that_it_was_withheld(published_texts: PublishedTexts) -> None:
    assert OWN not in published_texts.log
    assert "acme-key" in published_texts.log


def test_no_summary_holds_it(published_texts: PublishedTexts) -> None:
    assert OWN not in published_texts.summary
    assert "acme-key" in published_texts.summary


def test_a_dry_run_prints_what_would_be_written_without_it(published_texts: PublishedTexts) -> None:
    assert OWN not in published_texts.dry
    assert "would " in published_texts.dry
    assert "acme-key" in published_texts.dry


def test_nothing_on_github_holds_it(published_texts: PublishedTexts) -> None:
    assert OWN not in published_texts.published
    texts = [
        *published_texts.stage.bot_comments(),
        *(f"{pull['title']}\n{pull['body']}" for pull in published_texts.stage.pulls()),
    ]
    assert texts
    assert not [text for text in texts if OWN in text]
    assert "acme-key" in "\n".join(texts)


def test_a_commit_message_with_it_is_not_pushed(published_texts: PublishedTexts) -> None:
    (published_texts.stage.bundle / "message.md").write_text(f"Fix it\n\nUse {OWN}\n")
    before = published_texts.stage.branches()
    assert published_texts.stage.publish().code == 7
    assert published_texts.stage.branches() == before


def test_a_rule_file_that_is_gone_stops_publishing_and_says_so(
    published_texts: PublishedTexts, tmp_path: Path
) -> None:
    published_texts.stage.forge.commit(
        published_texts.stage.repo, {".github/agent.yml": POLICY.replace("secrets.", "other.")}
    )
    publication = published_texts.stage.publish()
    assert publication.code != 0
    assert (
        "names .github/other.toml under `detector: rules`, and there is no such file on main"
        in publication.output
    )
