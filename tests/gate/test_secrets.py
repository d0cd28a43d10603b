from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gate.redact import Redactor
from bot.gate.secrets import credential_kind, withhold_if_secret

# Put together here so that no scanner takes this file for a leak.
SAMPLES = {
    "GitHub token": "gh" + "p_" + "a1B2" * 9,
    "Anthropic key": "sk-" + "ant-api03-" + "a1B2c3D4" * 8,
    "OpenAI key": "sk-" + "proj-" + "a1B2c3D4" * 6,
    "OpenRouter key": "sk-" + "or-v1-" + "a1b2" * 16,
    "AWS access key": "AK" + "IA" + "ABCDEFGH12345678",
    "Slack token": "xo" + "xb-1234567890-abcdefghij",
    "npm token": "np" + "m_" + "a1B2" * 9,
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "password in a URL": "https://user:" + "hunter22@db.internal/x",
    "Google API key": "AI" + "za" + "a1B2c" * 7,
}


@pytest.mark.parametrize(("kind", "sample"), SAMPLES.items())
def test_a_credential_is_told_by_its_kind(kind: str, sample: str) -> None:
    assert credential_kind(f"the key is '{sample}', keep it") == kind


@pytest.mark.parametrize(
    "text",
    [
        "https://user:${PASSWORD}@host/x",
        "sk-your-key-here-your-key-here-your-key-here",
        "a task-force of disk-utilities-and-more-and-more-words",
        "-----BEGIN CERTIFICATE-----",
        "0123456789abcdef0123456789abcdef01234567",
        "git@github.com:ada/repo.git",
        "https://example.org/a:b/c@d",
    ],
)
def test_what_only_looks_a_little_like_one_passes(text: str) -> None:
    assert credential_kind(text) is None


def test_withholding_does_not_repeat_the_secret() -> None:
    reason = withhold_if_secret(SAMPLES["Anthropic key"])
    assert reason is not None
    assert "sk-ant" not in reason
    assert withhold_if_secret("nothing here") is None


SECRET = 'tok"en/with+odd=chars&é-1234567890'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET, safe=""),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        SECRET[::-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"x-access-token:" + SECRET.encode() + b"\n").decode(),
        base64.b64encode(b"a" + SECRET.encode() + b"bc").decode(),
        base64.b64encode(b"ab" + SECRET.encode() + b"c").decode(),
    ],
)
def test_a_known_secret_is_masked_in_common_encodings(form: str) -> None:
    redactor = Redactor({"API_KEY": SECRET})
    clean = redactor.text(f"before {form} after")
    assert "[redacted API_KEY]" in clean
    assert form not in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert redactor.names_hit == ("API_KEY",)


def test_each_line_of_a_key_is_masked() -> None:
    lines = ["-----BEGIN KEY-----", "a1b2c3d4" * 8, "e5f6a7b8" * 8, "-----END KEY-----"]
    redactor = Redactor({"APP_KEY": "\n".join(lines)})
    assert redactor.text(f"got {lines[1]} here") == "got [redacted APP_KEY] here"


def test_the_longer_of_two_secrets_wins() -> None:
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefghijkl"})
    assert redactor.text("abcdefghijkl abcdefgh") == "[redacted LONG] [redacted SHORT]"


def test_empty_and_tiny_values_mask_nothing() -> None:
    redactor = Redactor({"EMPTY": "", "TINY": "yes", "BLANK": "   \n"})
    assert redactor.text("yes, it is") == "yes, it is"
    assert redactor.names_hit == ()


def test_bytes_that_hold_a_secret_are_told() -> None:
    redactor = Redactor({"API_KEY": "abcdefgh12345678"})
    assert redactor.holds_secret(b"\xff\x00 abcdefgh12345678") == "API_KEY"
    assert redactor.holds_secret(b"\xff\x00") is None


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=8, max_size=40).filter(lambda text: len(text.strip()) >= 8), st.text(), st.text())
def test_a_known_value_never_survives(secret: str, before: str, after: str) -> None:
    clean = Redactor({"X": secret}).text(before + secret + after)
    assert secret.strip() not in clean.replace("[redacted X]", "")
