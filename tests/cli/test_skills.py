"""`slash-agent skills list` and `check`, as a person types them."""

from pathlib import Path

from bot.contracts.errors import ExitCode
from tests.cli.test_command_line import warm_cli as cli
from tests.skills.corpus import skill
from tests.support.files import write_file
from tests.support.repositories import make_repository

GOOD = skill("name: greet\ndescription: Says hello. Use for greetings.\n")


def test_list_shows_the_catalogue_that_the_model_sees(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    ran = cli("skills", "list", "--for-model", "--repo", repo)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "- greet: Says hello. Use for greetings." in lines
    assert lines[-1].startswith("- docs-drift, fix-failing-test, ")


def test_skills_alone_lists_names_and_a_line_each_for_people(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    ran = cli("skills", cwd=repo)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == cli("skills", "list", "--repo", repo).out
    lines = ran.out.splitlines()
    assert lines[0] == ".agents/skills:"
    assert lines[1].split("  ")[0] == "greet"
    assert lines[1].endswith("  Says hello. Use for greetings.")
    assert lines[2] == "bundled:"
    assert lines[3:] == sorted(lines[3:])
    assert "<skill" not in ran.out


def test_list_as_json_says_where_each_is_from_and_what_was_left_out(tmp_path: Path):
    repo = make_repository(
        tmp_path / "r",
        {".agents/skills/greet/SKILL.md": GOOD, ".agents/skills/bad/SKILL.md": "no front matter"},
    )
    told = cli("skills", "list", "--json", "--repo", repo).json
    [greet] = [one for one in told["skills"] if one["name"] == "greet"]
    assert (greet["origin"], greet["path"]) == ("repository", ".agents/skills/greet")
    assert told["notes"] == [
        ".agents/skills/bad/SKILL.md:1: front-matter: the first line must be `---`, before YAML"
    ]


def test_list_says_what_is_written_and_not_committed(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    assert cli("skills", "list", "--repo", repo).err == ""
    (repo / ".agents/skills/greet/SKILL.md").write_text(GOOD.replace("hello", "moin"))
    new = repo / ".claude/skills/new/SKILL.md"
    write_file(new, GOOD.replace("greet", "new"))
    ran = cli("skills", "list", "--repo", repo)
    assert "Says hello" in ran.out
    assert "new " not in ran.out
    assert ran.err.splitlines() == [
        ".agents/skills/greet/SKILL.md is not as HEAD has it, and HEAD's counts",
        ".claude/skills/new/SKILL.md is not committed: no run has that skill yet",
    ]


def test_check_names_rule_file_and_line_and_exits_with_2(tmp_path: Path):
    write_file(tmp_path / "greet/SKILL.md", GOOD.replace("name: greet", "name: a/b"))
    ran = cli("skills", "check", tmp_path)
    assert ran.code == ExitCode.USAGE
    assert f"{tmp_path}/greet/SKILL.md:2: name-characters: 'a/b':" in ran.out
    [verdict] = cli("skills", "check", "--json", tmp_path).json
    assert verdict["loads"] is False
    assert verdict["findings"][0]["rule"] == "name-characters"
    assert verdict["findings"][0]["line"] == 2
