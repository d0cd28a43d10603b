"""Answers kept for conditional requests: no more than there is room for."""

from __future__ import annotations

from bot.github.etag_cache import ETagCache


def put(tags: ETagCache, path: str, text: str, tag: str = "t") -> None:
    tags.put(path, {"etag": tag} if tag else {}, text)


def test_what_was_used_longest_ago_goes_first() -> None:
    tags = ETagCache(capacity=10)
    put(tags, "a", "xxxx")
    put(tags, "b", "xxxx")
    assert tags.get("a") is not None
    put(tags, "c", "xxxx")
    assert [tags.get(path) is not None for path in "abc"] == [True, False, True]


def test_an_answer_bigger_than_all_the_room_is_not_kept_and_drives_nothing_out() -> None:
    tags = ETagCache(capacity=10)
    put(tags, "a", "xxxx")
    put(tags, "b", "x" * 11)
    assert tags.get("a") is not None
    assert tags.get("b") is None


def test_a_newer_answer_takes_the_place_of_the_older_one() -> None:
    tags = ETagCache(capacity=10)
    for n in range(20):
        put(tags, "a", "xxxxxx", str(n))
    kept = tags.get("a")
    assert kept is not None
    assert kept.tag == "19"
    put(tags, "a", "without a tag", "")
    assert tags.get("a") is None
    put(tags, "b", "x" * 10)
    assert tags.get("b") is not None
