"""What the loop hears of a run in between."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.checkout.clone import Source, check_out
from bot.contracts.cancel import CancelToken
from bot.gate.judge import Verdict
from bot.run.stop_hook import StopHook, broken_files, loop_hooks
from bot.session.context.profiles import profile_of_verb
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.toolbox import CallTracker
from tests.support.repositories import make_repository
from tests.support.trees import Bench


@pytest.mark.parametrize("described", [False, True])
def test_a_run_has_its_result_once_the_change_is_described(described: bool):
    """Then the conversation is not summed up any more."""
    results = ResultTools()
    run: Any = SimpleNamespace(profile=profile_of_verb("fix"))
    parts: Any = SimpleNamespace(skills=None, results=results, subagents=SimpleNamespace(calls=CallTracker()))
    hooks = loop_hooks(run, parts)
    if described:
        results.describe({"title": "Round once", "summary": "At the end."}, CancelToken())
    assert hooks.has_result() is described


PLAN = {"title": "Round first", "steps": [{"text": "Round.", "paths": []}], "estimate_turns": 1}


def _said(verb: str, results: ResultTools) -> list[str]:
    """What a model hears that says twice that it is done, in a run that changed nothing."""
    checkout = SimpleNamespace(conflicted=())
    run: Any = SimpleNamespace(profile=profile_of_verb(verb), redact=str, checkout=checkout)
    gate = SimpleNamespace(close_and_judge=lambda: Verdict("tree", b"", b"", (), ()))
    rounds = SimpleNamespace(has_work=False)
    parts: Any = SimpleNamespace(review=None, results=results, workspace=gate, rounds=rounds)
    hook = StopHook(run, parts)
    return [said for said in (hook.before_end(), hook.before_end()) if said]


@pytest.mark.parametrize(
    ("verb", "described", "is_told"), [("fix", False, True), ("fix", True, False), ("explain", False, False)]
)
def test_open_items_of_the_list_are_recalled_once(verb: str, described: bool, is_told: bool):
    results = ResultTools()
    items = [{"text": "Mend it", "status": "completed"}, {"text": "Say so", "status": "pending"}]
    results.todo({"items": items}, CancelToken())
    if described:
        results.describe({"title": "Round once", "summary": "At the end."}, CancelToken())
    told = _said(verb, results)
    assert len(told) == is_told
    assert all("2. [ ] Say so" in text for text in told)


class Insistent(StopHook):
    """One that always misses something."""

    def _missing(self) -> Iterator[str]:
        yield "a check fails"


def test_a_model_is_sent_back_twice_and_no_more():
    run: Any = SimpleNamespace(redact=str)
    hook = Insistent(run, run)
    assert [hook.before_end() for _ in range(3)] == ["a check fails", "a check fails", None]


@pytest.mark.parametrize("planned", [False, True])
def test_a_missing_plan_is_told_once(planned: bool):
    results = ResultTools()
    if planned:
        results.submit(PLAN, CancelToken())
    assert len(_said("plan", results)) == (not planned)


def test_a_file_that_parsed_at_the_base_and_does_not_any_more_is_named(tmp_path: Path):
    before = {"a.toml": "a = 1\n", "b.json": "{}", "tsconfig.json": "{ // comments\n}", "c.json": "{}"}
    repository = make_repository(tmp_path / "repository", before)
    checkout = check_out(Source(str(repository), "HEAD"), tmp_path / "checkout")
    after = {"a.toml": "[x", "b.json": "[", "tsconfig.json": "{ // more\n}", "c.json": "[]", "new.json": "{"}
    for name, text in after.items():
        (checkout.tree / name).write_text(text)
    broken = broken_files(checkout, Bench(checkout, None).judge())  # type: ignore[arg-type]
    assert [line.partition(":")[0] for line in broken] == ["a.toml", "b.json"]
