"""The Actions protocol, read back by a parser that does what the runner does."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.plain_text import printable
from bot.github.actions import SUMMARY_LIMIT, Actions, json_text
from tests.support.runner_log import FORMS, commands


def read_outputs(text: str) -> dict[str, str]:
    """As the runner reads its file: `name=value` lines and `name<<delimiter` blocks."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if "<<" in line:
            name, _, delimiter = line.partition("<<")
            value = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            found[name] = "\n".join(value)
        elif "=" in line:
            name, _, plain = line.partition("=")
            found[name] = plain
    return found


@pytest.fixture
def step(tmp_path: Path) -> tuple[Actions, io.StringIO, Path, Path]:
    output, summary = tmp_path / "output", tmp_path / "summary"
    files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    environment = {"GITHUB_ACTIONS": "true", **files}
    out = io.StringIO()
    return Actions(environment, out), out, output, summary


HOSTILE = [
    "plain", "", "two\nlines", "x\nEOF\nstolen=1", "a<<b\nc\nb", "=\n=", "ends in newline\n", "\u2028x",
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_an_output_is_read_back_as_it_was_and_sets_nothing_else(
    step: tuple[Actions, io.StringIO, Path, Path], value: str
):
    actions, _, output, _ = step
    actions.set_output("pr-url", value)
    actions.set_output("status", "changed")
    assert read_outputs(output.read_text()) == {"pr-url": value, "status": "changed"}


def test_every_output_has_its_own_delimiter(step: tuple[Actions, io.StringIO, Path, Path]):
    actions, _, output, _ = step
    actions.set_output("one", "1")
    actions.set_output("two", "2")
    delimiters = [line.partition("<<")[2] for line in output.read_text().splitlines() if "<<" in line]
    assert len(set(delimiters)) == 2


def test_a_value_with_the_delimiter_in_it_is_refused(tmp_path: Path):
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(tmp_path / "output")}
    actions = Actions(environment, io.StringIO(), token=lambda: "guessed")
    with pytest.raises(UsageError, match="delimiter"):
        actions.set_output("status", "x\nend-guessed\nstolen=1")
    assert not (tmp_path / "output").exists()


def test_nothing_is_written_outside_actions(tmp_path: Path):
    out = io.StringIO()
    actions = Actions({"GITHUB_OUTPUT": str(tmp_path / "output")}, out)
    actions.set_output("status", "changed")
    actions.add_mask("secret")
    actions.add_summary("text")
    actions.print("::error::kept as it is")
    assert not (tmp_path / "output").exists()
    assert out.getvalue() == "::error::kept as it is\n"


def test_a_mask_covers_each_line(step: tuple[Actions, io.StringIO, Path, Path]):
    actions, out, _, _ = step
    actions.add_mask("first%\nsecond\n")
    assert out.getvalue() == "::add-mask::first%25\n::add-mask::second\n"


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("::#[]\n\r\t abc\x1b%-stop")))
def test_no_text_at_all_commands_anything(text: str):
    out = io.StringIO()
    Actions({"GITHUB_ACTIONS": "true"}, out).print(text)
    assert commands(out.getvalue()) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"), ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"), ("\x9b2Jcleared", "cleared"),
        ("\x1bP payload \x1b\\after", "after"), ("over\rwritten", "over\nwritten"),
        ("bell\x07 nul\x00", "bell nul"), ("tab\tkept", "tab\tkept"),
    ],
)  # fmt: skip
def test_terminal_sequences_are_gone(text: str, shown: str):
    assert printable(text) == shown


def test_an_annotation_is_one_command(step: tuple[Actions, io.StringIO, Path, Path]):
    actions, out, _, _ = step
    actions.warn("first\n::set-output::x")
    assert out.getvalue() == "::warning::first%0A::set-output::x\n"


def test_the_summary_stays_under_the_runners_limit(step: tuple[Actions, io.StringIO, Path, Path]):
    actions, _, _, summary = step
    actions.add_summary("ü" * SUMMARY_LIMIT)
    assert summary.stat().st_size <= SUMMARY_LIMIT
    assert "cut" in summary.read_text()


def test_a_runner_file_that_cannot_be_written_is_a_sentence(tmp_path: Path):
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(tmp_path / "missing" / "output")}
    with pytest.raises(AgentError, match="could not be written"):
        Actions(environment, io.StringIO()).set_output("status", "changed")


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_command_is_one_in_print(step: tuple[Actions, io.StringIO, Path, Path], form: str):
    actions, out, _, _ = step
    actions.print(f"{form}\n{form}")
    actions.warn(form)
    assert [line.split("::")[1] for line in commands(out.getvalue())] == ["warning"]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_command_is_one_in_json(form: str):
    assert commands(json_text({"a": form}, indent=1)) == []
    assert json.loads(json_text({"a": [form]})) == {"a": [form]}
