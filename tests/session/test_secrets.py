"""Which variables are secret, and what the runner is asked to hide."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bot.session.context.secrets import known_secrets, mask_all


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "ghs_0123456789abcdef"),
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789"),
        ("PGPASSWORD", "correct horse"),
        ("aws_secret_access_key", "a/b+c0123456789"),
        ("SLASH_AGENT_APP_PRIVATE_KEY", "-----BEGIN KEY-----\nabc\n-----END KEY-----"),
        ("SECRET_KEY", "lowercaseonlybutverylong"),
        ("MY_TOKEN", "https://host/path?token=0123456789"),
    ],
)
def test_a_variable_is_secret_by_its_name(name: str, value: str) -> None:
    assert known_secrets({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("http://me:pass-word-1@proxy:3128", {"X": "pass-word-1"}),
        ("postgres://app:p%40ss-word@db/app", {"X": "p%40ss-word", "X, decoded": "p@ss-word"}),
        ("http://me:short@proxy:3128", {"X": "me:short"}),
        ("http://me@proxy:3128", {}),
        ("http://proxy:3128", {}),
        ("see https://host/a:b@c", {}),
    ],
)
def test_the_password_of_an_address_is_secret_under_any_name(value: str, found: dict[str, str]) -> None:
    assert known_secrets({"X": value}) == found


def test_a_setting_is_no_secret(tmp_path: Path) -> None:
    there = tmp_path / "agent.sock"
    there.touch()
    settings = {
        "AUTH": "required",
        "SSH_AUTH_SOCK": str(there),
        "TOKEN": "short",
        "PAT": "https://host.net/path",
    }
    assert known_secrets(settings) == {}
    assert known_secrets({"SSH_AUTH_KEY": "/not/there/at/all0"}) != {}


def test_the_runner_is_asked_to_hide_each_value_and_its_base64() -> None:
    hidden: list[str] = []
    token = "ghs_0123456789abcdef"
    mask_all({"GITHUB_TOKEN": token, "SHORT": "1234567"}, hidden.append)
    assert hidden[0] == token
    for before in ("", "a", "ab"):
        written = base64.b64encode(f"{before}{token} and more".encode()).decode()
        assert any(form in written for form in hidden[1:])
    assert not [form for form in hidden if len(form) < 8]
