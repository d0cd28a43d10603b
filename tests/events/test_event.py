"""Payload files: what is read, and the one sentence for each thing that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.errors import ExitCode, UsageError
from bot.events.event import CommentEvent, OtherEvent, read_event
from tests.support.threads import MISSING, comment_payload, write_payload


def _read(folder: Path, payload: object, name: str = "issue_comment") -> Any:
    return read_event(name, write_payload(folder, payload))


def _refusal(folder: Path, content: bytes) -> str:
    path = folder / "event.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_event("issue_comment", path)
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value).replace(str(path), "FILE")


def test_a_comment_event_is_read_from_its_payload(tmp_path: Path) -> None:
    event = _read(tmp_path, comment_payload("/agent fix it"))
    assert isinstance(event, CommentEvent)
    assert (event.repository.name, event.subject.number, event.id) == ("acme/calc", 7, 5000)
    assert (event.body, event.subject.body) == ("/agent fix it", "It is off by one.")


REQUIRED = [
    "action",
    "issue",
    "issue.number",
    "issue.title",
    "issue.html_url",
    "issue.updated_at",
    "comment",
    "comment.id",
    "comment.created_at",
    "comment.user.login",
    "comment.user.id",
    "repository",
    "repository.full_name",
    "repository.default_branch",
    "repository.private",
    "repository.clone_url",
]


@pytest.mark.parametrize("path", REQUIRED)
def test_a_missing_field_is_named(tmp_path: Path, path: str) -> None:
    payload = comment_payload(**{path.replace(".", "__"): MISSING})
    with pytest.raises(UsageError, match=rf"The event has no field {path}(\.\w+)*\."):
        _read(tmp_path, payload)


WRONG: dict[str, tuple[Any, str]] = {
    "issue": ([], "The event's field issue is not an object."),
    "issue.number": ("7", "The event's field issue.number is not a positive whole number."),
    "comment.id": (True, "The event's field comment.id is not a positive whole number."),
    "comment.body": (["/agent"], "The event's field comment.body is not text."),
    "comment.user.login": ("../../x", "The event's field comment.user.login is not a login."),
    "comment.created_at": (
        "yesterday",
        "The event's field comment.created_at is not a time as in 2026-01-31T12:00:00Z.",
    ),
    "repository.full_name": ("a/b/../c", "The event's field repository.full_name is not owner/name."),
    "repository.private": ("no", "The event's field repository.private is not true or false."),
    "repository.clone_url": (
        "ext::sh -c x",
        "The event's field repository.clone_url is not an http or https URL.",
    ),
}


@pytest.mark.parametrize("path", WRONG)
def test_a_field_of_the_wrong_kind_is_named(tmp_path: Path, path: str) -> None:
    value, message = WRONG[path]
    with pytest.raises(UsageError) as caught:
        _read(tmp_path, comment_payload(**{path.replace(".", "__"): value}))
    assert str(caught.value) == message


def test_an_issue_without_a_body_has_an_empty_one(tmp_path: Path) -> None:
    assert _read(tmp_path, comment_payload(issue__body=None)).subject.body == ""


def test_a_comment_without_a_body_has_an_empty_one(tmp_path: Path) -> None:
    assert _read(tmp_path, comment_payload(None)).body == ""


def test_a_deleted_account_is_nobody(tmp_path: Path) -> None:
    assert _read(tmp_path, comment_payload(comment__user=None)).author is None


def test_an_issue_by_a_deleted_account_is_by_nobody(tmp_path: Path) -> None:
    assert _read(tmp_path, comment_payload(issue__user=None)).subject.author is None


def test_a_lone_surrogate_becomes_a_replacement_character(tmp_path: Path) -> None:
    assert _read(tmp_path, comment_payload("/agent " + chr(0xD800))).body == "/agent " + chr(0xFFFD)


def test_another_event_needs_no_field_at_all(tmp_path: Path) -> None:
    assert _read(tmp_path, {}, "push") == OtherEvent("push", "")


def test_a_payload_that_is_not_json_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b'{"action": ').startswith("The event file FILE is not JSON: ")


def test_a_payload_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b'{"a": "\xff"}').startswith("The event file FILE is not JSON: ")


def test_a_payload_that_is_a_list_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b"[]") == "The event file FILE does not hold a JSON object."


def test_a_payload_nested_without_end_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b"[" * 200_000) == "The event file FILE is nested too deeply."


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b"").startswith("The event file FILE is not JSON: ")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"The event file .*nowhere\.json cannot be read: No such file"):
        read_event("issue_comment", tmp_path / "nowhere.json")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*REQUIRED, "comment.body", "sender", "comment.user"]), _JSON)
def test_no_value_anywhere_makes_the_reader_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, path: str, value: Any
) -> None:
    folder = tmp_path_factory.mktemp("event")
    try:
        _read(folder, comment_payload(**{path.replace(".", "__"): value}))
    except UsageError as error:
        assert "\n" not in str(error)
