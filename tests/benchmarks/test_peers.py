"""The table of peers: each pinned, each on the page, and one that cannot be installed is a row."""

import pytest

from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.session import ROOT


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer: Peer):
    pins = [package.rpartition("==" if peer.registry == "pypi" else "@")[2] for package in peer.packages]
    assert all(pin[:1].isdigit() for pin in pins)
    assert not peer.registry or pins[0] == peer.version


def test_the_page_shows_every_peer_in_its_pinned_version():
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [peer.name for peer in PEERS if f"| {peer.name} ({peer.language})" not in page] == []
    assert [peer.name for peer in PEERS if f"| {peer.version} " not in page] == []
