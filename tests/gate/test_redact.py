"""Known values in every form, whole or in pieces."""

import base64
import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gate.redact import Redactor, base64_forms, forms
from bot.gate.secrets import REST

_ALPHABET = string.ascii_letters + string.digits
_RANDOM = random.Random(20261122)


def _token(length: int) -> str:
    return "".join(_RANDOM.choice(_ALPHABET) for _ in range(length))


TOKEN = "ghs_" + _token(36)
KEY = "sk-ant-api03-" + _token(60)
BODY = [_token(64) for _ in range(25)]
PEM = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"]) + "\n"
PASSWORD = "correct horse"
UMLAUTS = "pässwörter-für-alle-ßtädte"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor({"TOKEN": TOKEN, "KEY": KEY, "PEM": PEM, "PASSWORD": PASSWORD, "UMLAUTS": UMLAUTS})


@pytest.mark.parametrize("form", sorted(set(forms(TOKEN))))
def test_every_form_of_a_value_is_masked_whole(redactor: Redactor, form: bytes):
    assert redactor.mask(b"before " + form + b" after") == b"before [redacted TOKEN] after"


@pytest.mark.parametrize("start", range(4, len(TOKEN) - 11))
def test_eleven_characters_of_a_token_are_enough(redactor: Redactor, start: int):
    assert redactor.text(f"<{TOKEN[start : start + 11]}>") == "<[redacted TOKEN]>"


def test_what_is_cut_off_at_either_end_is_masked_to_its_last_character(redactor: Redactor):
    assert redactor.text(f"{TOKEN[7:]} {TOKEN[:-5]}") == "[redacted TOKEN] ghs_[redacted TOKEN]"


def test_a_vendors_prefix_is_no_secret(redactor: Redactor):
    said = (
        "Keys begin with sk-ant-api03- or ghs_, and a GitHub App's key with -----BEGIN RSA PRIVATE KEY-----."
    )
    assert redactor.text(said) == said


def test_each_line_of_a_key_is_masked_and_its_frame_is_not(redactor: Redactor):
    assert (
        redactor.text(PEM)
        == "-----BEGIN RSA PRIVATE KEY-----\n[redacted PEM]\n-----END RSA PRIVATE KEY-----\n"
    )
    assert redactor.text(f"x {BODY[7]} x") == "x [redacted PEM] x"
    assert BODY[3] not in redactor.text("\r\n".join(BODY))
    assert not [line for line in BODY if line in redactor.text(PEM.replace("\n", "\\n"))]


def test_the_base64_of_a_whole_key_file_is_masked(redactor: Redactor):
    masked = redactor.text(base64.b64encode(PEM.encode()).decode())
    header, _, rest = masked.partition("[redacted PEM]")
    assert (
        rest
        and base64.b64decode(header + "==") == b"-----BEGIN RSA PRIVATE KEY-----\n"[: len(header) * 6 // 8]
    )
    assert len(rest) < 50


def test_words_that_a_value_holds_stay_words(redactor: Redactor):
    assert redactor.text("a correct answer, a horse") == "a correct answer, a horse"
    assert redactor.text(PASSWORD) == "[redacted PASSWORD]"


def test_values_beyond_ascii_are_masked_whole_and_leave_text(redactor: Redactor):
    assert redactor.text(f"ä{UMLAUTS}ö€") == "ä[redacted UMLAUTS]ö€"
    assert redactor.text("für alle Städte") == "für alle Städte"


def test_text_that_holds_nothing_is_the_same_object(redactor: Redactor):
    text = "nothing here, \ud800 nor there"
    assert redactor.text(text) is text
    assert redactor.text(f"{text} {TOKEN}") == f"{text} [redacted TOKEN]"


def test_it_remembers_which_secrets_it_met():
    redactor = Redactor({"A": TOKEN, "B": KEY})
    assert redactor.names_hit == ()
    redactor.text(KEY)
    assert redactor.names_hit == ("B",)


def test_holds_secret_names_it_and_says_no_more(redactor: Redactor):
    assert redactor.holds_secret(b"\xff\x00" + TOKEN.encode()) == "TOKEN"
    assert redactor.holds_secret(b"\xff\x00 ghs_") is None


def test_values_under_eight_characters_are_no_secrets():
    redactor = Redactor({"SHORT": "abc1234"})
    assert redactor.text("abc1234") == "abc1234"


def test_base64_forms_are_what_a_masker_of_exact_strings_needs():
    for before in ("", "a", "ab"):
        written = base64.b64encode(f"{before}{TOKEN} and more".encode()).decode()
        assert any(form in written for form in base64_forms(TOKEN))


_PIECES = st.sampled_from(
    [TOKEN[7:], TOKEN[:20], BODY[3], PEM, KEY, KEY[13:25], UMLAUTS, *map(bytes.decode, forms(TOKEN))]
)
_TEXT = st.lists(st.one_of(_PIECES, st.text(max_size=12), st.just(TOKEN[:9])), max_size=6).map("".join)
_SHARED = Redactor({"TOKEN": TOKEN, "KEY": KEY, "PEM": PEM, "UMLAUTS": UMLAUTS})


@settings(max_examples=150, deadline=None)
@given(before=_TEXT, piece=_PIECES, after=_TEXT)
def test_a_form_is_masked_in_any_text(before: str, piece: str, after: str):
    masked = _SHARED.text(f"{before}|{piece}|{after}")
    assert piece not in masked
    assert _SHARED.text(masked) == masked


_KILLERS = {
    "one letter": "a",
    "the beginning of a token": TOKEN[:9],
    "a public prefix": "sk-ant-api03-",
    "hex digits": "6768735f",
    "base64 that never ends": "Z2hz",
    "brackets": "[](",
    "an unterminated header": "-----BEGIN RSA PRIVATE KEY-----\n",
    "all of a public beginning": "sk-ant-api",
    "a secret": f"{TOKEN} ",
    "a piece of one": f"{TOKEN[10:20]}.",
}


@pytest.mark.parametrize("name", _KILLERS)
def test_a51_time_grows_with_the_text_alone(redactor: Redactor, name: str):
    """A-51: eight times the text takes about eight times as long, whatever it repeats."""
    text = _KILLERS[name]
    small, large = (text * (size // len(text)) for size in (1 << 17, 1 << 20))
    redactor.text(small)
    assert _seconds(redactor, large) < 40 * _seconds(redactor, small) + 0.2


@pytest.mark.parametrize("name", _KILLERS)
def test_a51_a_megabyte_of_a_killer_string_is_masked_in_a_fifth_of_a_second(name: str):
    """A-51, with room for a slow machine."""
    redactor = Redactor({"TOKEN": TOKEN, "KEY": f"sk-ant-api03-{TOKEN[4:]}"})
    text = _KILLERS[name] * (1_000_000 // len(_KILLERS[name]))
    redactor.text("-")
    assert _seconds(redactor, text) < 0.6


def test_after_very_many_matches_the_rest_is_masked_whole(redactor: Redactor):
    shown = redactor.mask(f"{TOKEN[10:20]} {KEY}.".encode() * 1_500 + b"the end")
    assert shown.endswith(REST.encode())
    assert b"the end" not in shown


def _seconds(redactor: Redactor, text: str) -> float:
    """Of this thread alone: others share the machine."""
    best = 9e9
    for _ in range(3):
        began = time.thread_time()
        redactor.text(text)
        best = min(best, time.thread_time() - began)
    return best
