"""The measuring of the sandbox's cost, once and tiny. What it finds is nobody's test."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import sandboxed


@pytest.mark.bubblewrap
def test_a_command_in_each_sandbox_is_measured_against_a_plain_one(tmp_path: Path) -> None:
    found = list(sandboxed.commands(tmp_path, 1, each=1))
    assert found[0].sandbox.startswith("bubblewrap")
    assert all(cost.pairs.our_median > 0 and cost.pairs.their_median > 0 for cost in found)


def test_a_suite_is_pinned_by_version_and_hash() -> None:
    for suite in sandboxed.SUITES:
        assert "==" in suite.package
        assert len(bytes.fromhex(suite.sha256)) == 32
