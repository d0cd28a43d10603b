"""Language servers in a whole run: which may start, and their word with the edit's result, in journal and outcome."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.agent.journal import Journal, read_journal
from bot.contracts import journal as lines
from bot.contracts.evidence import ServerUse
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome
from bot.contracts.wire import WireError
from bot.ecosystems.registry import server_names
from bot.policy.load import load_policy
from bot.session.context.profiles import profile_of_verb, without_running
from bot.session.workspaces.diagnostics_monitor import (
    FIELD,
    DiagnosticsMonitor,
    diagnostics_settings,
    refused_servers,
)
from bot.session.workspaces.start_workspaces import CallPosition
from bot.workspace.diagnostics import diagnosis
from tests.support.runs import make_run
from tests.support.sessions import header

pytestmark = pytest.mark.checkers


def problem(**more: Any) -> dict[str, Any]:
    place = {"tool": "ty", "path": "a.py", "line": 1, "column": 2}
    return {**place, "severity": "error", "code": "c", "message": "m", "snippet": "s", **more}


USE = {"name": "ty", "version": "1", "note": ""}
SAID = {"tools": [["ty", "complete"]], "new": [problem()], "new_count": 3, "note": "", "servers": [USE]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("new_count", -1), ("new_count", 1 << 60), ("note", "x" * 1001), ("tools", [["evil", "complete"]]),
        ("tools", [["ty", "clean"]]), ("tools", [["ty", "complete"]] * 100), ("new", [problem()] * 21),
        ("new", [problem(severity="hint")]), ("new", [problem(tool="../x")]), ("new", [problem(line=1.5)]),
        ("new", [problem(message="x" * 1001)]), ("new", [problem(path="x" * 5000)]),
        ("servers", [{**USE, "version": 1}]), ("other", 1),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused(field: str, value: object):
    with pytest.raises(WireError):
        diagnosis({**SAID, field: value})


def test_control_characters_of_a_record_go_no_further():
    found = diagnosis({**SAID, "new": [problem(message="a\x1b[31m\nb\x00", path="a\n.py")]})
    assert (found.new[0].message, found.new[0].path) == ("a b", "a .py")


def test_hosts_of_one_run_add_up(tmp_path: Path):
    with Journal(tmp_path / "journal.jsonl", lambda text: text) as journal:
        journal.write(header())
        policy = "diagnostics: {servers: {biome: {off: true}}}"
        monitor = DiagnosticsMonitor(make_run(tmp_path, policy=policy, journal=journal))
        settings = [monitor.settings(), monitor.settings()]
        first, second = (one or {} for one in settings)
        assert first["since"] == second["since"] == first["starting"] < second["starting"]
        assert first["servers"]["biome"]["off"]
        first = ToolOutcome("x", metadata={FIELD: SAID, "path": "a"})
        assert dict(monitor.take_diagnostics(CallPosition(1, "c"), first).metadata) == {"path": "a"}
        second = {**SAID, "new_count": 4}
        monitor.take_diagnostics(CallPosition(2, "d"), ToolOutcome("x", metadata={FIELD: second}))
        assert monitor.servers() == (ServerUse("ty", "1"),)
        nonsense = ToolOutcome("x", metadata={FIELD: {"new": "nonsense"}})
        monitor.take_diagnostics(CallPosition(3, "e"), nonsense)
    recorded = read_journal(tmp_path / "journal.jsonl")
    written = [(line.turn, line.new_count) for line in recorded.records(lines.DiagnosticsRecord)]
    assert written == [(1, 3), (2, 4)]
    assert "could not be read" in next(recorded.records(lines.Note)).text


def test_where_nothing_is_to_look_on_no_host_is_told():
    assert diagnostics_settings(load_policy("diagnostics: {off: true}"), Tier.LOCAL) is None


FIX = profile_of_verb("fix")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        ("", {}),
        ("{effect: deny, paths: ['*.rs']}, {effect: allow, commands: [[cargo]]}", {}),
        ("{effect: deny, commands: [[cargo], [tsc]]}",
         {"rust-analyzer": "does not allow `cargo check`", "typescript": "does not allow `tsc --lsp --stdio`"}),
        ("{effect: ask, commands: [[cargo, check]]}", {"rust-analyzer": "does not allow `cargo check`"}),
        ("{effect: deny, commands: [[cargo, publish]]}", {}),
        ("{effect: deny, commands: [[cargo]], tiers: [bot]}", {}),
        ("{effect: ask, opaque: true}", dict.fromkeys(server_names(), "does not allow opaque commands")),
    ],
)  # fmt: skip
def test_a_rule_about_a_command_is_one_about_the_server(rules: str, refused: dict[str, str]):
    terms = refused_servers(load_policy(f"rules: [{rules}]"), Tier.MAINTAINER, FIX)
    assert {name: why.partition(") ")[2] for name, why in terms.items()} == refused


def test_where_no_command_is_given_only_ours_may_look_on():
    """Of a fork's head nothing is run, whatever the policy says."""
    policy = load_policy(None)
    fork = refused_servers(policy, Tier.MAINTAINER, without_running(FIX, "it is a fork's"))
    assert fork == dict.fromkeys(server_names(), "it is a fork's")
    without_shell = replace(FIX, tools=("view", "edit"))
    none_run = refused_servers(policy, Tier.MAINTAINER, without_shell)
    assert set(none_run.values()) == {"this run is given no commands"}
    assert refused_servers(policy, Tier.LOCAL, None) == {}
