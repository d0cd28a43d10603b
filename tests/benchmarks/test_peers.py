"""The table of peers: each pinned, each on the page, and one that cannot be installed is a row."""

import json
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.install import NotInstalledError
from benchmarks.session import ROOT


def test_a_peer_that_cannot_be_had_is_a_row_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(peer: Peer) -> Path:
        raise NotInstalledError("npm is not here")

    monkeypatch.setattr(command, "install", refuse)
    out = tmp_path / "peers.json"
    assert command.main(["--only", "codex", "--json", str(out)]) == 0
    assert "| codex (Rust) | 0.169.0 | not measured: npm is not here |" in capsys.readouterr().out
    assert json.loads(out.read_text())["rows"][0]["why"] == "npm is not here"


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer: Peer):
    pins = [package.rpartition("==" if peer.registry == "pypi" else "@")[2] for package in peer.packages]
    assert all(pin[:1].isdigit() for pin in pins)
    assert not peer.registry or pins[0] == peer.version


def test_the_page_shows_every_peer_in_its_pinned_version():
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [peer.name for peer in PEERS if f"| {peer.name} ({peer.language})" not in page] == []
    assert [peer.name for peer in PEERS if f"| {peer.version} " not in page] == []
