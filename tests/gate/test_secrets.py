import pytest

from bot.gate.redact import Redactor
from bot.gate.secrets import withhold_if_secret


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
    assert withhold_if_secret(text) is None


def test_withholding_does_not_repeat_the_secret() -> None:
    reason = withhold_if_secret("sk-" + "ant-api03-" + "a1B2c3D4" * 8)
    assert reason is not None
    assert "sk-ant" not in reason
    assert withhold_if_secret("nothing here") is None


def test_the_longer_of_two_secrets_wins() -> None:
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefghijkl"})
    assert redactor.text("abcdefghijkl abcdefgh") == "[redacted LONG] [redacted SHORT]"
