"""Who gets which tier, and who gets no answer at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.contracts.request import Actor, Tier
from bot.contracts.threads import Permission
from bot.events.admission import RejectedActor, identify_actor, tier_of
from bot.events.event import read_event
from bot.events.event_request import EventRequest, parse_event_request
from tests.support.threads import WRITER, Threads, comment_payload, write_payload


def _event(folder: Path, **changes: Any) -> EventRequest:
    asked = parse_event_request(
        read_event("issue_comment", write_payload(folder, comment_payload(**changes)))
    )
    assert isinstance(asked, EventRequest)
    return asked


def _permission(
    level: str, role: str = "", *, private: bool = False, collaborator: bool = False
) -> Permission:
    return Permission(level, 583231, "User", private, role or level, collaborator)


TIERS = [
    (_permission("admin"), Tier.MAINTAINER),
    (_permission("write"), Tier.MAINTAINER),
    (_permission("write", "maintain"), Tier.MAINTAINER),
    (_permission("read", "triage"), Tier.CONTRIBUTOR),
    (_permission("read", collaborator=True), Tier.CONTRIBUTOR),
    (_permission("read", private=True), Tier.CONTRIBUTOR),
    (_permission("read"), Tier.OUTSIDER),
    (_permission("none"), Tier.OUTSIDER),
    (_permission("none", private=True), Tier.OUTSIDER),
    (_permission("owner-of-the-moon", "write"), Tier.OUTSIDER),
]


@pytest.mark.parametrize(("permission", "tier"), TIERS)
def test_a_tier_comes_from_the_permission(permission: Permission, tier: Tier) -> None:
    assert tier_of(permission) is tier


def test_a_writer_is_a_maintainer(tmp_path: Path) -> None:
    assert identify_actor(_event(tmp_path), Threads(), ()) == Actor("octocat", 583231, Tier.MAINTAINER)


def test_the_payloads_association_counts_for_nothing(tmp_path: Path) -> None:
    event = _event(tmp_path, comment__author_association="OWNER")
    actor = identify_actor(event, Threads(_permission("read")), ())
    assert isinstance(actor, Actor)
    assert actor.tier is Tier.OUTSIDER


def test_a_login_that_passed_to_another_account_is_refused(tmp_path: Path) -> None:
    answer = Permission("admin", 999, "User", private=False)
    assert identify_actor(_event(tmp_path), Threads(answer), ()) == RejectedActor(
        "GitHub knows octocat as account 999, not as 583231."
    )


def test_an_account_that_github_does_not_know_is_refused(tmp_path: Path) -> None:
    answer = Permission("none", 0, "", private=False)
    assert isinstance(identify_actor(_event(tmp_path), Threads(answer), ()), RejectedActor)


def test_a_deleted_account_is_refused_without_asking(tmp_path: Path) -> None:
    threads = Threads()
    assert isinstance(identify_actor(_event(tmp_path, comment__user=None), threads, ()), RejectedActor)
    assert threads.calls == []


@pytest.mark.parametrize("kind", ["Bot", "Organization", "Mannequin", ""])
def test_an_account_that_the_api_does_not_call_a_user_is_refused(tmp_path: Path, kind: str) -> None:
    answer = Permission("admin", 583231, kind, private=False)
    assert isinstance(identify_actor(_event(tmp_path), Threads(answer), ()), RejectedActor)


BOTS = [
    {"login": "dependabot[bot]", "id": 49699333, "type": "Bot"},
    {"login": "Copilot", "id": 49699333, "type": "Bot"},
    {"login": "sneaky[bot]", "id": 49699333, "type": "User"},
]


@pytest.mark.parametrize("account", BOTS)
def test_a_bot_is_refused_without_asking(tmp_path: Path, account: dict[str, Any]) -> None:
    threads = Threads(WRITER)
    event = _event(tmp_path, comment__user=account, sender=account)
    assert isinstance(identify_actor(event, threads, ()), RejectedActor)
    assert threads.calls == []


def test_a_bot_listed_by_id_has_the_bots_tier(tmp_path: Path) -> None:
    event = _event(tmp_path, comment__user=BOTS[0], sender=BOTS[0])
    assert identify_actor(event, Threads(), [49699333]) == Actor("dependabot[bot]", 49699333, Tier.BOT)


def test_a_listed_id_makes_no_bot_of_a_person(tmp_path: Path) -> None:
    actor = identify_actor(_event(tmp_path), Threads(_permission("read")), [583231])
    assert isinstance(actor, Actor)
    assert actor.tier is Tier.OUTSIDER


def test_an_event_sent_by_somebody_else_than_the_author_is_refused(tmp_path: Path) -> None:
    event = _event(tmp_path, sender={"login": "mallory", "id": 666, "type": "User"})
    assert identify_actor(event, Threads(), ()) == RejectedActor(
        "mallory sent this event, but octocat wrote what asks."
    )
