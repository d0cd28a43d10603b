"""Terminal sequences of ECMA-48 in both forms, and names in which something cannot be seen."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.plain_text import printable, printable_name
from bot.toolhost.output import plain

ESC, BEL, ST = "\x1b", "\x07", "\x1b\\"

SEQUENCES = {
    "colours": f"{ESC}[1;31m", "colours with colons": f"{ESC}[38:2::1:2:3m", "cursor up": f"{ESC}[5A",
    "clear": f"{ESC}[2J", "clear the line": f"{ESC}[2K", "scroll back away": f"{ESC}[3J", "hidden text": f"{ESC}[8m",
    "other screen": f"{ESC}[?1049h", "report": f"{ESC}[6n", "private": f"{ESC}[>0c", "with blanks": f"{ESC}[1 q",
    "title": f"{ESC}]0;owned{BEL}", "title, ended by ST": f"{ESC}]2;owned{ST}",
    "link": f"{ESC}]8;;https://example.org{BEL}", "clipboard": f"{ESC}]52;c;cm0gLXJm{BEL}",
    "notification": f"{ESC}]9;x{BEL}", "device control": f"{ESC}P1$r0m{ST}", "sixels": f"{ESC}Pq#0;2;0;0;0{ST}",
    "privacy message": f"{ESC}^x{ST}", "application command": f"{ESC}_Gx{ST}", "start of string": f"{ESC}Xx{ST}",
    "reset": f"{ESC}c", "save the cursor": f"{ESC}7", "reverse index": f"{ESC}M", "character set": f"{ESC}(0",
    "key pad": f"{ESC}=", "test pattern": f"{ESC}#8", "control in 8 bits": "\x9b31m",
    "device control in 8 bits": "\x90x\x9c", "title in 8 bits": "\x9d0;owned\x9c", "privacy in 8 bits": "\x9ex\x9c",
    "application command in 8 bits": "\x9fx\x9c", "string in 8 bits": "\x98x\x9c", "next line": "\x85",
    "reverse index in 8 bits": "\x8d", "single shift": "\x8e", "bell": BEL, "shift out": "\x0e", "shift in": "\x0f",
    "delete": "\x7f", "null": "\0", "vertical tab": "\x0b", "form feed": "\x0c", "cancel": "\x18",
}  # fmt: skip


@pytest.mark.parametrize("kind", SEQUENCES)
def test_a_sequence_leaves_nothing(kind: str):
    assert printable(f"one{SEQUENCES[kind]}two") == "onetwo"
    assert plain(f"one{SEQUENCES[kind]}two".encode()) == b"onetwo"


@pytest.mark.parametrize("kind", SEQUENCES)
def test_half_a_sequence_hides_nothing_that_follows(kind: str):
    for cut in range(1, len(SEQUENCES[kind])):
        assert "two" in printable(f"{SEQUENCES[kind][:cut]}\nthe line two")


def test_what_a_carriage_return_would_write_over_is_seen():
    assert printable("rm -rf /\rls        \r\n") == "rm -rf /\nls        \n"


@given(st.text(st.characters(max_codepoint=0x2FF) | st.sampled_from("\x1b\x9b\x9d\x90[]PX^_\\;m")))
def test_no_control_character_is_left(text: str):
    left = printable(text)
    assert not [c for c in left if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert printable(left) == left


@pytest.mark.parametrize(
    "piece", ["\x1b]", "\x9d", "\x1bP", "\x1b[", "\x9b1;", "\x1b]0;a\x1b", "\x1b[[", "\r"]
)
def test_a51_a_text_made_to_be_slow_is_not(piece: str):
    began = time.process_time()
    printable(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 0.6, "a fraction of a second for 1 MB"


def test_names_show_what_cannot_be_seen_in_them():
    assert printable_name("src/app.py") == "src/app.py"
    assert printable_name("naïve ☕.txt") == "naïve ☕.txt"
    assert printable_name("a\nb\x1b[2J\u202egpj.exe\u200b") == r"a\nb\x1b[2J\u202egpj.exe\u200b"
