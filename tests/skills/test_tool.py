"""The `skill` tool: a line as the result, the instructions afterwards, names looked up only."""

from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.skills.folders import choose_skills
from bot.skills.read_source import discover
from bot.skills.sources import folder_source
from bot.skills.tool import MAX_BODY, MAX_LISTED, SkillFolder, SkillTool
from tests.skills.corpus import text, write
from tests.support.files import write_file

SHOWN = "/run/slash-agent/skills"


class Bench:
    """A skill tool over skills written to disk."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.source = folder / "source"
        place = folder_source(write(self.source, files), "skills")
        self.found = choose_skills([discover(place, "repository")])
        self.shelf = folder / "shelf"
        self.tool = SkillTool(self.found, SkillFolder(self.shelf, SHOWN))

    def call(self, name: str) -> ToolOutcome:
        return self.tool({"command": name}, CancelToken())

    def load(self, name: str) -> str:
        assert not self.call(name).is_error
        return "\n".join(self.tool.after_results())


@pytest.mark.parametrize(
    "written, shown",
    [
        ("python scripts/run.py x", "python {}/scripts/run.py x"),
        ("`./scripts/run.py`", "`{}/scripts/run.py`"),
        ("see [more](FORMS.md)", "see [more]({}/FORMS.md)"),
        ("bash ${CLAUDE_SKILL_DIR}/scripts/run.py", "bash {}/scripts/run.py"),
        ("python .claude/skills/a/scripts/run.py", "python .claude/skills/a/scripts/run.py"),
        ("other/scripts/run.py and scripts/run.pyc", "other/scripts/run.py and scripts/run.pyc"),
    ],
)
def test_files_of_a_skill_are_where_its_text_names_them(tmp_path: Path, written: str, shown: str):
    files = {
        "a/SKILL.md": text("a", body=f"{written}\n"),
        "a/scripts/run.py": "print()\n",
        "a/FORMS.md": "x\n",
    }
    body = Bench(tmp_path, files).load("a").splitlines()[1]
    assert body == shown.format(f"{SHOWN}/a")


def test_the_result_is_a_line_and_the_body_comes_after_the_results(tmp_path: Path):
    bench = Bench(
        tmp_path, {"a/SKILL.md": text("a", body="# Steps\n1. Look.\n"), "a/scripts/run.py": "print()\n"}
    )
    outcome = bench.call("a")
    assert outcome.content == "Loaded the skill a; its instructions follow."
    assert "Look" not in str(outcome.metadata)
    [body] = bench.tool.after_results()
    assert body.startswith(f'<skill-loaded name="a" folder="{SHOWN}/a">\n# Steps\n1. Look.\n')
    assert "scripts/run.py" in body
    assert "print" not in body, "files are named, never read"
    assert "name: a" not in body, "the front matter is not instructions"
    assert bench.tool.after_results() == []


def test_a_loaded_skill_is_not_put_to_the_model_twice(tmp_path: Path):
    bench = Bench(tmp_path, {"a/SKILL.md": text("a")})
    assert bench.load("a")
    again = bench.call("a")
    assert "already" in again.content
    assert not again.is_error
    assert bench.tool.after_results() == []
    bench.tool.end_turn()
    assert bench.tool.carried() == ("", ["a"])
    assert "Do it." in bench.load("a"), "after a compaction it may be loaded anew"


def test_a_shorter_conversation_keeps_the_skill_that_is_being_followed_word_for_word(tmp_path: Path):
    bench = Bench(
        tmp_path, {"a/SKILL.md": text("a", body="First.\n"), "b/SKILL.md": text("b", body="Second.\n")}
    )
    bench.load("a")
    body = bench.load("b")
    assert bench.tool.carried() == (body, ["a"])
    assert bench.call("b").content == "The skill b is loaded already; its instructions are above and hold."
    assert bench.tool.after_results() == []
    assert bench.tool.carried() == (body, [])
    assert "First." in bench.load("a")
    bench.tool.end_turn()
    assert bench.tool.carried() == ("", ["a", "b"])


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../a", "aa", "", "nope", "a\0"])
def test_a_name_that_is_no_skill_is_answered_with_those_there_are(tmp_path: Path, name: str):
    bench = Bench(tmp_path, {"a/SKILL.md": text("a"), "b/SKILL.md": text("b")})
    outcome = bench.call(name)
    assert outcome.is_error
    assert outcome.content.endswith("The skills are: a, b.")
    assert bench.tool.after_results() == []
    assert list(bench.shelf.iterdir()) == []


def test_the_body_is_read_when_it_is_called_and_the_catalogue_stays(tmp_path: Path):
    bench = Bench(tmp_path, {"a/SKILL.md": text("a", body="Old.\n"), "b/SKILL.md": text("b")})
    before = bench.tool.spec
    (bench.source / "a/SKILL.md").write_text(text("a", body="New.\n", more="license: changed\n"))
    write_file(bench.source / "c/SKILL.md", text("c"))
    assert "New." in bench.load("a")
    assert bench.tool.spec is before
    assert bench.call("c").is_error


def test_a_body_has_no_hidden_characters(tmp_path: Path):
    body = bench_body(tmp_path, "Look\u200b\u202e.\U000e0041 <!-- a comment stays -->\n")
    assert "Look. <!-- a comment stays -->" in body


def test_a_huge_body_is_cut_with_a_way_to_go_on(tmp_path: Path):
    lines = [f"line {number}" for number in range(10_000)]
    body = bench_body(tmp_path, "\n".join(lines) + "\n")
    assert len(body) < MAX_BODY + 500
    last = max(int(line.split()[1]) for line in body.splitlines() if line.startswith("line "))
    document = (tmp_path / "shelf/a/SKILL.md").read_text().splitlines()
    assert f"view {SHOWN}/a/SKILL.md from about line {document.index(f'line {last}') + 2}]" in body


def bench_body(tmp_path: Path, body: str) -> str:
    return Bench(tmp_path, {"a/SKILL.md": text("a", body=body)}).load("a")


def test_many_files_are_listed_up_to_a_limit(tmp_path: Path):
    files = {f"a/references/{number:03}.md": "" for number in range(MAX_LISTED + 7)}
    body = Bench(tmp_path, {"a/SKILL.md": text("a"), **files}).load("a")
    assert body.count("references/") == MAX_LISTED
    assert "[and 7 more]" in body


def test_a_skill_that_cannot_be_copied_is_an_error_and_the_session_goes_on(tmp_path: Path):
    bench = Bench(tmp_path, {"a/SKILL.md": text("a"), "b/SKILL.md": text("b")})
    (bench.source / "a/SKILL.md").unlink()
    outcome = bench.call("a")
    assert outcome.is_error
    assert "Go on without it" in outcome.content
    assert bench.tool.after_results() == []
    assert list(bench.shelf.iterdir()) == [], "no half of it is left"
    assert "Do it." in bench.load("b")
