"""What the loop hears of a run in between, and a model that says it is done."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from bot.agent import journal_file
from bot.agent.conversation_context import Hooks
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import RECORDS
from bot.gate.verdict import Verdict
from bot.policy.load import load_policy
from bot.report import page
from bot.run.loop_hooks import LoopHooks, ReportLoader, StopHook
from bot.session.context.profiles import profile_of_verb
from bot.session.tools.result_tools import ResultTools


def _hooks(results: ResultTools, used: Any = None) -> Hooks:
    """`used` stands for all that the run has beside its results."""
    run: Any = SimpleNamespace(review=None, watch=used)
    parts: Any = SimpleNamespace(review=None, workspace=used, rounds=used)
    return LoopHooks(
        run,
        parts,
        results,
        SimpleNamespace(
            review=None,
        ),
        used,
    ).hooks()  # type: ignore[arg-type]


def test_the_report_is_loaded_while_the_model_thinks() -> None:
    """Else its packages and templates are loaded between the model's last word and the result, in 0.2 s."""
    page._template.cache_clear()
    journal_file._adapter.cache_clear()
    run = SimpleNamespace(review=None, scan_meanwhile=lambda: None, start_before=lambda: None)
    hooks = _hooks(ResultTools(), run)
    hooks.request_sent(1)
    hooks.request_sent(2)
    assert "report" not in [thread.name for thread in threading.enumerate()], "not before half a second"
    time.sleep(ReportLoader.SECONDS)
    hooks.request_sent(3)
    for thread in threading.enumerate():
        if thread.name == "report":
            assert not thread.daemon, "the interpreter must wait for it"
            thread.join(30)
    assert page._template.cache_info().currsize == 1
    assert journal_file._adapter.cache_info().currsize >= len(RECORDS)


@pytest.mark.parametrize("described", [False, True])
def test_a_run_has_its_result_once_the_change_is_described(described: bool) -> None:
    """Then the conversation is not summed up any more."""
    results = ResultTools()
    hooks = _hooks(results)
    if described:
        results.describe({"title": "Round once", "summary": "At the end."}, CancelToken())
    assert hooks.has_result() is described


PLAN = {"title": "Round first", "steps": [{"text": "Round.", "paths": []}], "estimate_turns": 1}


def _said(verb: str, results: ResultTools, policy: str = "") -> list[str]:
    """What a model hears that says twice that it is done, in a run that changed nothing."""
    run: Any = SimpleNamespace(
        review=None, profile=profile_of_verb(verb), policy=load_policy(f"version: 1\n{policy}")
    )
    same = Verdict("tree", b"", b"", (), ())
    gate = SimpleNamespace(review=None, verdict=lambda: same)
    parts: Any = SimpleNamespace(review=None, gate=gate, rounds=SimpleNamespace(has_work=False))
    hook = StopHook(run, parts, results)
    return [said for said in (hook.before_end(), hook.before_end()) if said]


@pytest.mark.parametrize(
    ("verb", "policy", "described", "is_told"),
    [
        ("fix", "", False, True),
        ("fix", "", True, False),
        ("fix", "agent: {stop_hook: {todos: false}}", False, False),
        ("explain", "", False, False),
    ],
)
def test_open_items_of_the_list_are_recalled_once(
    verb: str, policy: str, described: bool, is_told: bool
) -> None:
    results = ResultTools()
    items = [{"text": "Mend it", "status": "completed"}, {"text": "Say so", "status": "pending"}]
    results.todo({"items": items}, CancelToken())
    if described:
        results.describe({"title": "Round once", "summary": "At the end."}, CancelToken())
    told = _said(verb, results, policy)
    assert len(told) == is_told
    assert all("2. [ ] Say so" in text for text in told)


@pytest.mark.parametrize("planned", [False, True])
def test_a_missing_plan_is_told_once(planned: bool) -> None:
    results = ResultTools()
    if planned:
        results.submit(PLAN, CancelToken())
    assert len(_said("plan", results)) == (not planned)
