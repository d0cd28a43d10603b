"""The scripts of the bundled skills, run as the agent runs them: as programs, by any Python, without our packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.files import write_file
from tests.support.programs import run_program

SKILLS = Path(__file__).parents[2] / "skills"
FAILING = SKILLS / "fix-failing-test/scripts/failing_tests.py"
COMMANDS = SKILLS / "docs-drift/scripts/doc_commands.py"
MARKERS = SKILLS / "resolve-conflict/scripts/conflict_markers.py"

JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" tests="4">
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="3"/>
<testcase classname="tests.test_a" name="test_red" file="tests/test_a.py" line="9">
<failure message="assert 1 == 2
more">trace</failure></testcase>
<testcase classname="pkg.B" name="breaks"><error>
  Boom &lt;here&gt;
  second</error></testcase>
<testcase name="later"><skipped/></testcase>
</testsuite></testsuites>
"""


def run(script: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_program([sys.executable, "-I", "-S", script, *map(str, arguments)], cwd=cwd, timeout=60)


@pytest.mark.parametrize("script", sorted(SKILLS.glob("*/scripts/*")), ids=lambda path: path.name)
def test_every_script_is_a_program_that_says_what_it_does(script: Path, tmp_path: Path):
    assert script.stat().st_mode & 0o111
    done = run(script, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "usage:" in done.stdout


def test_failing_tests_are_listed_with_place_and_message(tmp_path: Path):
    (tmp_path / "junit.xml").write_text(JUNIT)
    done = run(FAILING, "junit.xml", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "tests/test_a.py:9 tests.test_a::test_red: assert 1 == 2 more",
        "pkg.B::breaks: Boom <here>",
        "2 of 4 tests failed",
    ]
    assert done.returncode == 1
    assert "... and 1 more" in run(FAILING, "junit.xml", "--limit", 1, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not XML", "not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "entities"),
        (None, "No such file"),
    ],
)
def test_a_report_that_cannot_be_read_is_said(tmp_path: Path, text: str | None, said: str):
    if text is not None:
        (tmp_path / "junit.xml").write_text(text)
    done = run(FAILING, "junit.xml", cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True)


PAGE = """# Use
```console
$ tool fix \\
    --all
out of it
$ tool  help
```
```sh
# a comment
make test
```
```
no prompt, no command
```
~~~
$ other thing
~~~
```python
print("$ not a command")
```
[here](there.md) [gone](gone.md#part) [web](https://x.test/a) [part](#use) ![no](img/no.png "title")
```console
$ unfinished
"""


def test_commands_of_pages_are_listed_with_their_lines(tmp_path: Path):
    write_file(tmp_path / "docs/page.md", PAGE)
    done = run(COMMANDS, "docs", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "docs/page.md:3: tool fix --all",
        "docs/page.md:6: tool  help",
        "docs/page.md:10: make test",
        "docs/page.md:16: other thing",
        "docs/page.md:23: unfinished",
    ]


def test_links_that_lead_nowhere_are_listed(tmp_path: Path):
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "there.md").write_text("")
    done = run(COMMANDS, "page.md", "--missing", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        ["page.md:21: gone.md#part", "page.md:21: img/no.png"],
    )
    assert run(COMMANDS, "nowhere", cwd=tmp_path).returncode == 2


def test_conflicts_are_listed_with_both_sides(tmp_path: Path):
    marks = "a\n<<<<<<< HEAD\none\n||||||| base\nold\n=======\ntwo\n>>>>>>> topic\nb\n"
    (tmp_path / "a.py").write_text(marks)
    (tmp_path / "heading.md").write_text("Title\n=======\ntext\n")
    (tmp_path / "half.py").write_text(">>>>>>> topic\n<<<<<<< HEAD\n")
    (tmp_path / "binary").write_bytes(b"\0" + marks.encode())
    (tmp_path / "link").symlink_to("a.py")
    done = run(MARKERS, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "a.py:2-8: HEAD | topic",
        "half.py:1: >>>>>>> without <<<<<<<",
        "half.py:2: <<<<<<< without >>>>>>>",
    ]
    assert done.returncode == 1
    assert run(MARKERS, "heading.md", cwd=tmp_path).returncode == 0
    assert run(MARKERS, "nowhere", cwd=tmp_path).returncode == 2
