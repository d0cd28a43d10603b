"""The question to a person: what it quotes cannot look like it, and it stays on the screen."""

import os
import pty
import re
import threading
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bot.cli.terminal.question import GUTTER, PlainConsole, ask, question_text
from bot.contracts.cancel import CancelToken
from bot.contracts.progress import Inquiry, Reply

OURS = (
    "",
    "The agent asks: may it call edit?",
    "  rule     rules[0]: it is mine",
    "  once     this call alone",
    "  session  every edit that rules[0] asks about, until this run ends",
    "  no       and the run ends here; the work so far is kept",
    "  or       a sentence: it is not done, and the model is told so in your words",
)
SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")
IMITATION = "\n".join((*OURS[1:], "> o"))


def edit(diff: str) -> Inquiry:
    return Inquiry(
        "edit", "", "rules[0]", "it is mine", (("tidytime/format.py", "modify"),), diff,
        "every edit that rules[0] asks about",
    )  # fmt: skip


def shown(inquiry: Inquiry, width: int = 80) -> list[str]:
    return [line for line, _ in question_text(inquiry, width)]


pieces = ["a", " ", "\n", "\t", "\r", "\x1b[2K", "漢", "é", "\u202e", "  once     this", "> "]
hostile = st.lists(st.sampled_from(pieces)).map("".join)


@given(hostile, st.integers(40, 90))
def test_whatever_is_quoted_stands_behind_the_gutter_row_by_row(diff: str, width: int):
    for inquiry in (edit(f"+{diff}"), Inquiry("bash", f"{diff}\nls", "rules[1]", "")):
        ours = {line for line, _ in question_text(inquiry._replace(diff="", subject="x\nx"), width)}
        for line, _ in question_text(inquiry, width):
            assert line in ours or line.startswith(GUTTER)
            assert sum(1 if character.isascii() else 2 for character in line) < width + 1 or line in ours
            assert line.isprintable()


def test_a_command_and_the_files_of_a_write_stand_above():
    lines = shown(Inquiry("bash", "echo a\n  rule     none", "rules[1]", "", remembered="bash"))
    assert lines[1:4] == ["  │ echo a", "  │   rule     none", "The agent asks: may it call bash?"]
    wide = shown(Inquiry("bash", "x" * 200, "rules[1]", ""))
    assert wide[1:4] == [f"  │ {'x' * 75}", f"  │ {'x' * 75}", f"  │ {'x' * 50}"]
    path = f"{'a/' * 200}x.py   once     this call alone"
    both = shown(edit("+x")._replace(files=((path, "write"), ("b.py", "delete"))))
    assert both[1].startswith("  │ write    a/a/")
    assert "  │ delete   b.py" in both


@dataclass
class Asked:
    """A person at a pseudo-terminal; `text` is all that was written so far."""

    inquiry: Inquiry
    text: str = ""

    def answer(self, *typed: str) -> Reply:
        master, keyboard = pty.openpty()
        replies: list[Reply] = []
        console = PlainConsole(os.fdopen(os.dup(keyboard), "w", encoding="utf-8"))
        asking = threading.Thread(
            target=lambda: replies.append(ask(self.inquiry, CancelToken(), console, keyboard))
        )
        asking.start()
        for number, line in enumerate(typed, 1):
            while self.text.count("\n> ") < number:
                self.text += os.read(master, 65_536).decode().replace("\r\n", "\n")
            os.write(master, line.encode())
        asking.join(120)
        console.file.close()
        os.close(keyboard)
        os.close(master)
        return replies[0]


ASKED = Inquiry("ask_user", "", "", "", question="Cents:\n a) round\n d) truncate?")


def test_a_question_of_the_models_is_answered_in_any_words():
    asked = Asked(ASKED)
    assert asked.answer("d\n") == Reply("words", "d")
    rows = [SEQUENCE.sub("", row) for row in asked.text.split("\n")]
    assert rows[1:5] == [
        "  │ Cents:",
        "  │  a) round",
        "  │  d) truncate?",
        "The agent asks the question above.",
    ]
    assert not any("may it call" in row or row.startswith("  rule") for row in rows)


def test_enter_alone_answers_no_question():
    assert Asked(ASKED).answer("\n") == Reply("gone")


def test_at_a_terminal_a_file_that_imitates_the_question_is_told_from_it():
    diff = "\n".join(f"+{line}" for line in (*IMITATION.split("\n"), *[f"{'x' * 74}{OURS[4]}"] * 20))
    asked = Asked(edit(diff))
    assert asked.answer("session\n") == Reply("session")
    rows = [SEQUENCE.sub("", row) for row in asked.text.split("\n")]
    ours = [row for row in rows if not row.startswith("  │ ") and row not in ("", "> ", "> session")]
    assert ours == [*OURS[1:]]
