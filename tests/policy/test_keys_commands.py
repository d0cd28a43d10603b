"""The policy's limits on what a command may take of the machine."""

from __future__ import annotations

import pytest

from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.running import SandboxLimits
from bot.session.workspaces.start import in_bytes
from bot.toolhost.resource_limits import ResourceLimits


def test_what_is_not_said_is_as_the_tool_host_has_it() -> None:
    host = ResourceLimits()._asdict()
    assert in_bytes(load_policy("version: 1").sandbox.limits) == {
        name: host[name] for name in ("memory", "processes", "file", "disk")
    }


def test_one_limit_leaves_the_others() -> None:
    limits = load_policy("sandbox: {limits: {file: 16}}").sandbox.limits
    assert limits == SandboxLimits(file=16)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("memory: 65537", "from 64 to 65,536"),
        ("processes: 10001", "from 10 to 10,000"),
        ("memory: 1", "from 64"),
        ("disk: -1", "from 1"),
        ("open_files: 5", "unknown key `open_files`"),
    ],
)
def test_a_limit_has_a_floor_and_a_ceiling(limits: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        load_policy(f"sandbox: {{limits: {{{limits}}}}}")
