"""What the loop hears of a run in between."""

from __future__ import annotations

from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.request import Verb
from bot.session.context.profiles import profile_of_verb
from bot.session.job.loop_hooks import LoopHooks
from bot.session.tools.result_tools import ResultTools


@pytest.mark.parametrize("described", [False, True])
def test_a_run_has_its_result_once_the_change_is_described(described: bool) -> None:
    """Then the conversation is not summed up any more.

    Breaks: bot/session/job/loop_hooks.py "has_result=self._has_result".
    """
    results = ResultTools()
    unused: Any = None
    profile = profile_of_verb(Verb.FIX)
    hooks = LoopHooks(
        workspace=unused,
        rounds=unused,
        results=results,
        skills=unused,
        stop_hook=unused,
        profile=profile,
        calls=unused,
        watch=unused,
        say=unused,
    ).hooks()
    if described:
        results.describe({"title": "Round once", "summary": "At the end."}, CancelToken())
    assert hooks.has_result() is described
