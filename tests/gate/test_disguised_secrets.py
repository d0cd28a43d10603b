"""The encodings in which a secret does not leave: base64, hexadecimal, percent signs and backwards, two levels deep."""

import base64
import json
import random
import string
import textwrap
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from bot.gate import redact
from bot.gate.redact import Redactor
from tests.gate.test_patterns import filled

_DRAW = random.Random(7)
TOKEN = "ghs_" + "".join(_DRAW.choice(string.ascii_letters + string.digits) for _ in range(36))
REDACTOR = Redactor({"TOKEN": TOKEN})


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


_ENVIRONMENT = f"HOME=/root\nPATH=/usr/bin:/bin\nGITHUB_TOKEN={TOKEN}\nCI=1\n"

ONCE: dict[str, Callable[[str], str]] = {
    "plain": str,
    "backwards": lambda text: text[::-1],
    "base64": _b64,
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 of a text around it": lambda text: _b64(f"token: {text}, and more of it"),
    "base64, wrapped and indented": lambda text: textwrap.indent("\n".join(textwrap.wrap(_b64(text), 64)), "    "),
    "hex": lambda text: text.encode().hex(),
    "hex, upper case": lambda text: text.encode().hex().upper(),
    "hex, colons": lambda text: text.encode().hex(":"),
    "hex, \\x": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "hex, a C array": lambda text: ", ".join(f"0x{byte:02X}" for byte in text.encode()),
    "percent, what must be": lambda text: quote(f"token={text}&", safe=""),
    "percent, every character": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
}  # fmt: skip

FURTHER: dict[str, Callable[[], str]] = {
    "two halves": lambda: f"first {TOKEN[:20]} and then {TOKEN[20:]}",
    "its beginning cut off": lambda: TOKEN[7:],
    "base64 cut at its start": lambda: _b64(_ENVIRONMENT)[3:],
    "hex and base64 one behind the other": lambda: b"nothing to see".hex() + _b64(_b64(_ENVIRONMENT)),
}


def _caught(text: str) -> bool:
    """Masked, so that less than ten characters of it are left together, or withheld."""
    redactor = Redactor({"TOKEN": TOKEN})
    masked = redactor.text(f"so: {text} end")
    return (bool(redactor.names_hit) and len(masked) < 60) or REDACTOR.withhold(f"so: {text} end") is not None


@pytest.mark.parametrize("outer", ONCE)
@pytest.mark.parametrize("inner", ONCE)
def test_a16_an_encoded_secret_does_not_leave(inner: str, outer: str):
    """A-16: any two of the encodings that the docs name, one upon the other."""
    assert _caught(ONCE[outer](ONCE[inner](TOKEN)))
    assert _caught(ONCE[outer](ONCE[inner](_ENVIRONMENT)))


@pytest.mark.parametrize("name", [*ONCE, *FURTHER])
@pytest.mark.parametrize("written", [repr, json.dumps, lambda text: json.dumps({"path": json.dumps(text)})])
def test_a16_nor_one_that_is_written_in_a_text_within_a_text(name: str, written: Callable[[str], str]):
    """As what a journal holds of a tool's arguments: JSON in JSON, with an escape where a line ends."""
    text = ONCE[name](_ENVIRONMENT) if name in ONCE else FURTHER[name]()
    assert _caught(written(text))


@pytest.mark.parametrize("name", FURTHER)
def test_a16_nor_a_part_of_one(name: str):
    assert _caught(FURTHER[name]())


@pytest.mark.parametrize("outer", ["base64", "hex", "percent, every character"])
def test_a16_a_credential_nobody_knows_is_found_under_two_encodings(outer: str):
    text = ONCE[outer](_b64(f"the key is {filled('npm_{A36}')}"))
    assert Redactor({}).hidden(text) == "npm token"


_HARMLESS = (
    "An ordinary text of two sentences, with `code` in it. See https://example.net/a/b?c=1#L20-L30 for more.",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 and 2def912f00 are commits",
    "data:image/png;base64," + _b64(bytes(range(256)) * 4),
    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]",
    "kLjHgFdSaQwErTyUiOpZxCvBnM0123456789" * 20,
    "Привет, мир. こんにちは。 👩‍👩‍👧 \u200b",
    "",
)


@pytest.mark.parametrize("text", _HARMLESS)
def test_what_hides_nothing_is_not_withheld(text: str):
    assert REDACTOR.withhold(text) is None


TEXTS: dict[str, Callable[[int], str]] = {
    "prose": lambda size: "The parser accepts ISO weeks now, 12 of 14 tests pass. " * (size // 55),
    "base64": lambda size: _b64(_DRAW.randbytes(size * 3 // 4)),
    "hex": lambda size: _DRAW.randbytes(size // 2).hex(),
    "colons": lambda size: "67:68:69:6a:6b:6c:6d:6e:6f:g" * (size // 28),
    "percent": lambda size: "%67%68" * (size // 6),
    "backslashes": lambda size: "\\" * size,
    "nested": lambda size: _b64(_b64(_b64("abc" * (size // 8)))),
    "brackets": lambda size: "[](" * (size // 3),
    "zero width": lambda size: "a\u200b" * (size // 2),
    "many short runs": lambda size: (_b64(b"abcdefghijkl") + " ") * (size // 17),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a51_reading_a_text_takes_time_in_its_length_alone(name: str):
    """A-51: four times the text, about four times the time."""
    small, large = TEXTS[name](16_384), TEXTS[name](65_536)
    REDACTOR.withhold(small)
    assert _seconds(REDACTOR, large) < 16 * _seconds(REDACTOR, small) + 0.25


def _seconds(redactor: Redactor, text: str) -> float:
    began = time.thread_time()
    redactor.withhold(text)
    return time.thread_time() - began


def test_a_text_that_cannot_be_looked_through_is_withheld(monkeypatch: pytest.MonkeyPatch):
    def broken(data: object) -> str | None:
        raise RuntimeError("out of memory for this expression")

    for name in ("withhold_if_secret", "without_credentials"):
        monkeypatch.setattr(redact, name, broken)
    redactor = Redactor({})
    why = "withheld: it could not be looked through for secrets (RuntimeError)"
    assert redactor.withhold("words") == why
    assert redactor.masked("words") == f"({why})"
