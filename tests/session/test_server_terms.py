"""What a run may start to look on: as much as the agent could by a command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contracts.request import Tier
from bot.policy.load import load_policy
from bot.session.context.profiles import profile_of_verb, without_running
from bot.session.workspaces.diagnostics_monitor import ServerPermissions, server_permissions

pytestmark = pytest.mark.checkers

FIX = profile_of_verb("fix")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "only_ours", "refused"),
    [
        ("", "", {}),
        ("{effect: deny, paths: ['*.rs']}, {effect: allow, commands: [[cargo]]}", "", {}),
        (
            "{effect: deny, commands: [[cargo], [tsc]]}",
            "",
            {
                "rust-analyzer": "does not allow `cargo check`",
                "typescript": "does not allow `tsc --lsp --stdio`",
            },
        ),
        ("{effect: ask, commands: [[cargo, check]]}", "", {"rust-analyzer": "does not allow `cargo check`"}),
        ("{effect: deny, commands: [[cargo, publish]]}", "", {}),
        ("{effect: deny, commands: [[cargo]], tiers: [bot]}", "", {}),
        ("{effect: ask, opaque: true}", "does not allow opaque commands", {}),
    ],
)
def test_a_rule_about_a_command_is_one_about_the_server(
    rules: str, only_ours: str, refused: dict[str, str]
) -> None:
    terms = server_permissions(load_policy(f"rules: [{rules}]"), Tier.MAINTAINER, FIX)
    assert terms.only_ours.endswith(only_ours)
    assert bool(terms.only_ours) is bool(only_ours)
    assert {name: why.partition(") ")[2] for name, why in terms.refused.items()} == refused


def test_where_no_command_is_given_only_ours_may_look_on() -> None:
    """Of a fork's head nothing is run, whatever the policy says."""
    policy = load_policy(None)
    assert server_permissions(policy, Tier.MAINTAINER, without_running(FIX, "it is a fork's")) == (
        "it is a fork's",
        {},
    )
    without_shell = replace(FIX, tools=("view", "edit"))
    assert (
        server_permissions(policy, Tier.MAINTAINER, without_shell).only_ours
        == "this run is given no commands"
    )
    assert server_permissions(policy, Tier.LOCAL) == ServerPermissions()
