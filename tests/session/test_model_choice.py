"""The policy's fallback list, effort and small model in whole runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.agent.journal import read_journal
from bot.contracts import journal as lines
from bot.contracts.outcome import Status as RunStatus
from bot.session.tools.model_choice import ConversationModel, RunModels
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW
from tests.support.model_script import ScriptRequest, Status, Step, Think, Turn
from tests.support.runs import make_run
from tests.support.scripted import INFO, ScriptedProvider
from tests.support.stage import MODEL, Stage
from tests.support.verb_runs import VerbRun, request_in, run_verb

OWN, OTHER = MODEL.partition("/")[2], "gpt-6.2-sol"
POLICY = f"version: 1\nmodel_settings: {{fallback: [openai-chat/{OTHER}]}}\n"
NOT_NOW = {"retry-after": "61"}


def played(stage: Stage, own: list[Step], other: list[Step], policy: str = POLICY, **more: Any) -> VerbRun:
    """A run in which each model does its steps in order."""
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    steps = {OWN: iter(own), OTHER: iter(other)}

    def script(request: ScriptRequest) -> Step:
        return next(steps[request.body["model"]])

    return run_verb(stage, request_in(stage, "fix", "round first"), script, **more)


def test_another_vendors_model_goes_on_where_the_first_is_unavailable(stage: Stage):
    own: list[Step] = [Turn((Think("Look first."), VIEW)), Status(529, "not now", NOT_NOW)]
    came = played(stage, own, [Turn(EDITS), DESCRIBE, DONE])
    assert came.outcome.status is RunStatus.CHANGED
    assert came.outcome.model == OTHER
    assert [one["model"] for one in came.model_requests] == [OWN, OWN, OTHER, OTHER]
    journal = read_journal(stage.bundle / "journal.jsonl")
    [change] = journal.records(lines.ModelChanged)
    assert (change.turn, change.model, "(529)" in change.reason) == (2, OTHER, True)
    assert any(f"openai-chat/{OTHER} answers from here on" in note for note in came.outcome.notes)
    first = json.dumps(came.model_requests[2])
    assert "sig-1" not in first and "Look first" not in first
    roles = [message["role"] for message in came.model_requests[2]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    costs = [line.cost for line in journal.records(lines.Response)]
    assert all(cost > 0 for cost in costs)


def test_a_recorded_run_has_no_other_models(tmp_path: Path):
    policy = "model_settings: {effort: high, fallback: [openai/gpt-6.2-sol], small: openai/x}"
    models = RunModels(make_run(tmp_path, policy=policy, model="replay/x.jsonl"), ScriptedProvider(()))
    assert (models.effort, models.names[1:], models.small, models.notes) == ("", (), "", [])


def test_conversations_at_once_go_along_one_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What one of them found unavailable no later one asks again."""
    asked: list[str] = []

    def connect(name: str, environment: object) -> ScriptedProvider:
        asked.append(name)
        return ScriptedProvider((), INFO)

    names = ("openai-chat/a", "openai-chat/b")
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    policy = f"model_settings: {{fallback: [{', '.join(names)}]}}"
    monkeypatch.setattr("bot.session.tools.model_choice.connect_model", connect)
    run = make_run(tmp_path, policy=policy, environment=environment, model="x/y")
    models = RunModels(run, ScriptedProvider(()))
    main = ConversationModel(models, ScriptedProvider(()))
    early = ConversationModel(models)
    assert early.fall_back("down") is not None
    late = ConversationModel(models)
    assert main.fall_back("down") is not None
    assert late.fall_back("down") is not None
    assert late.fall_back("down") is None
    # The list is at its end, and a later conversation still has a model to ask.
    ConversationModel(models)
    assert asked == ["x/y", names[0], names[0], names[0], names[1], names[1]]
