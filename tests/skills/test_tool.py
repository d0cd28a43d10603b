"""The `skill` tool and its catalogue: one short line a skill, a line as the result, the instructions afterwards."""

import random
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.skills.folders import Wanted, choose_skills, denied_action
from bot.skills.read_source import discover
from bot.skills.skill import Discovered, Skill
from bot.skills.sources import folder_source
from bot.skills.tool import (
    MAX_BODY,
    MAX_CHARACTERS,
    MAX_LISTED,
    SkillFolder,
    SkillTool,
    catalogue,
    skill_spec,
)
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


def a_skill(name: str, description: str = "Says hello.") -> Skill:
    return Skill(name, description, "repository", name)


def test_it_is_sorted_whatever_the_order():
    skills = [a_skill(name) for name in ("c", "a", "b")]
    assert catalogue(skills).splitlines() == [f"- {name}: Says hello." for name in "abc"]
    specs = []
    for seed in range(5):
        random.Random(seed).shuffle(skills)
        specs.append(skill_spec(skills))
    assert all(spec == specs[0] for spec in specs)
    assert "enum" not in specs[0].parameters["properties"]["command"], "each name is listed once"


def test_of_many_skills_each_can_be_told_from_the_others():
    skills = [a_skill(f"s{n:03}", f"Does {n}. " + "w" * 1024) for n in range(100)]
    lines = catalogue([*skills, a_skill("short", "Says hello. Use when greeted.")]).splitlines()
    assert lines[-1] == "- short: Says hello. Use when greeted."
    assert all(line.startswith(f"- s{n:03}: Does {n}. www") for n, line in enumerate(lines[:-1]))
    assert sum(len(line.partition(": ")[2]) for line in lines) <= MAX_CHARACTERS
    assert len({len(line) for line in lines[:-1]}) == 1


def test_of_bundled_skills_the_names_say_enough():
    bundled = [a_skill(name)._replace(origin="bundled") for name in ("write-tests", "docs-drift")]
    assert catalogue([*bundled, a_skill("own")]) == "- own: Says hello.\n- docs-drift, write-tests"


@pytest.mark.parametrize(
    ("name", "description", "allowed"),
    [
        ("pushing-commits-to-the-repo", "What to do.", ""),
        ("after", "What to do every time you push. Watch CI.", ""),
        ("release", "Open a pull request for the release.", ""),
        ("ship", "Ships it.", "Read, Bash(git push:*)"),
        ("merge", "Merges it.", "Bash(gh pr merge:*)"),
    ],
)
def test_a_skill_for_what_no_run_may_do_is_not_offered(name: str, description: str, allowed: str):
    assert denied_action(a_skill(name, description)._replace(allowed_tools=allowed))


def test_such_a_skill_of_the_repository_is_left_out_with_the_reason(tmp_path: Path):
    source = folder_source(tmp_path, "s")
    skills = [a_skill("release", "Open a pull request for the release."), a_skill("hello")]
    found = choose_skills([Discovered(source, [one._replace(source=source) for one in skills])])
    assert [one.name for one in found.skills] == ["hello"]
    assert found.notes[0].startswith(
        "s/release: the skill release is not offered: it is for work after the run"
    )


@pytest.mark.parametrize(
    ("wanted", "offered"),
    [
        (Wanted(), False),
        (Wanted("deploy it"), False),
        (Wanted("see docs/deploy"), False),
        (Wanted("/deploy-all"), False),
        (Wanted("/deploy"), True),
        (Wanted("use /deploy, please"), True),
        (Wanted(name="deploy-all"), False),
        (Wanted(name="Deploy"), True),
        (None, True),
    ],
)
def test_a_skill_for_people_alone_is_there_if_a_person_writes_its_name(
    tmp_path: Path, wanted: Wanted | None, offered: bool
):
    skill = a_skill("deploy")._replace(manual=True)
    found = choose_skills([Discovered(folder_source(tmp_path, "s"), (skill,))], wanted)
    assert [one.name for one in found.skills] == ["deploy"] * offered
    assert any("only people start it" in note for note in found.notes) is not offered


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("pre-push-review", "Review the branch before pushing the changes."),
        ("push-notifications", "How push notifications are sent and tested."),
        ("review-pull-request", "Review a pull request."),
        ("git-hygiene", "Write commits as this project likes them."),
    ],
)
def test_a_skill_that_only_speaks_of_pushing_is_offered(name: str, description: str):
    assert denied_action(a_skill(name, description)._replace(allowed_tools="Bash(git log:*)")) == ""
