"""Processes that are nested deep."""

from __future__ import annotations

import pytest

from bot.toolhost import descendants


def test_what_is_below_a_process_may_be_nested_deeper_than_python_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand forks, each by the one before: counting them ended the host."""
    monkeypatch.setattr(descendants, "children", lambda pid=None: [pid + 1] if pid < 5000 else [])
    assert list(descendants.below(1)) == list(range(2, 5001))
