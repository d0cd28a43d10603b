"""What the sandbox's cost is measured with. That it can be measured is shown with the other figures."""

from __future__ import annotations

from benchmarks import sandboxed


def test_a_suite_is_pinned_by_version_and_hash() -> None:
    for suite in sandboxed.SUITES:
        assert "==" in suite.package
        assert len(bytes.fromhex(suite.sha256)) == 32
