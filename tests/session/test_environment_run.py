"""`slash-agent fix` on a checkout that has its environment: it is used, never copied or written, and what it installed
by its place is the changed tree's. On both back ends."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.environment_runs import both, fixed, states
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Call
from tests.support.repositories import make_repository

POLICY = "version: 1\ndiagnostics: {{checkers: []}}\nchecks: ['{}']\n"
PYTHON = {
    ".gitignore": ".venv/\n",
    ".github/agent.yml": POLICY.format("python -m unittest -q tests/test_app.py"),
    "pyproject.toml": "",
    "src/app/__init__.py": "def answer():\n    return 42\n",
    "tests/test_app.py": (
        "import unittest\nimport app\nimport installed\n\nclass App(unittest.TestCase):\n"
        "    def test_answer(self):\n        self.assertEqual(app.answer(), installed.ANSWER)\n"
    ),
}
NODE = {
    ".gitignore": "node_modules\n",
    ".github/agent.yml": POLICY.format("node test.js"),
    "package.json": "{}",
    "packages/own/index.js": "module.exports = 42\n",
    "test.js": "require('assert').equal(require('own'), require('installed'))\n",
}


def finder(package: Path) -> str:
    """As setuptools writes it, less what it needs for namespaces."""
    return (
        "import sys\nfrom importlib.util import spec_from_file_location\n"
        f"MAPPING: dict[str, str] = {{'app': '{package}'}}\nclass _EditableFinder:\n"
        "    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n"
        "        if name in MAPPING:\n"
        "            return spec_from_file_location(name, MAPPING[name] + '/__init__.py')\n"
        "def install():\n    sys.meta_path.append(_EditableFinder)\n"
    )


def editable(repo: Path, style: str) -> None:
    """A virtual environment in `repo`, with a package of somebody's and an editable install of the repository."""
    venv = repo / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    [site] = venv.glob("lib/python3*/site-packages")
    (site / "installed.py").write_text("ANSWER = 42\n")
    if style == "finder":
        (site / "__editable___app_0_finder.py").write_text(finder(repo / "src/app"))
        (site / "__editable__.app-0.pth").write_text(
            "import __editable___app_0_finder; __editable___app_0_finder.install()"
        )
    else:
        (site / ("_app.pth" if style == "uv" else "__editable__.app-0.pth")).write_text(f"{repo}/src\n")


SETUP = """version: 1
diagnostics: {checkers: []}
bring: [.venv]
setup:
  - |
    .venv/bin/python -c "import installed" && echo "$PWD/src" > .venv/lib/python3.%d/site-packages/_app.pth
    echo loose > made
checks: ['.venv/bin/python -m unittest -q tests/test_app.py && test -f made && ! echo x > .venv/made']
"""


def without_install(repo: Path) -> Path:
    editable(repo, "pip")
    [site] = repo.glob(".venv/lib/python3*/site-packages")
    (site / "__editable__.app-0.pth").unlink()
    return site


def link_of_a_package(repo: Path) -> None:
    (without_install(repo) / "app").symlink_to(repo / "src/app")


def linked(repo: Path, target: str) -> None:
    """As workspaces and `npm link` make it."""
    write_file(repo / "node_modules/installed/index.js", "module.exports = 42\n")
    (repo / "node_modules/own").symlink_to(target.format(repo))


WITH_SETUP = {**PYTHON, ".github/agent.yml": SETUP % sys.version_info[1], ".gitignore": ".venv\nmade\n"}
RED = ["passed", "failed"]


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("files", "make", "landlock"),
    [
        *(
            pytest.param(PYTHON, partial(editable, style=style), RED, id=style)
            for style in ("pip", "uv", "finder")
        ),
        # Nothing can be shown in place of a link of a package.
        pytest.param(PYTHON, link_of_a_package, ["not_runnable"] * 2, id="link"),
        # Its install leads to the tree that setup ran in.
        pytest.param(WITH_SETUP, without_install, RED, id="setup"),
        pytest.param(NODE, partial(linked, target="../packages/own"), RED, id="npm", marks=pytest.mark.node),
        pytest.param(
            NODE, partial(linked, target="{}/packages/own"), RED, id="npm link", marks=pytest.mark.node
        ),
    ],
)
def test_what_is_installed_by_its_place_is_tested_in_the_changed_tree(
    cli: Cli,
    tmp_path: Path,
    sandbox: str,
    files: dict[str, str],
    make: Callable[[Path], object],
    landlock: list[str],
):
    """Broken only there."""
    repo = make_repository(tmp_path / "app", files)
    make(repo)
    path = "packages/own/index.js" if files is NODE else "src/app/__init__.py"
    broken = Call("edit", {"path": path, "old": "42", "new": "43"})
    outcome = fixed(cli, repo, sandbox, Call("view", {"path": path}), broken)
    expected = landlock if sandbox == "landlock" else RED
    assert states(outcome) == expected, json.dumps(outcome["checks"], indent=1)
    assert expected != RED or re.search("43 [!=]= 42", outcome["checks"][0]["after"]["tail"])
    assert [file["path"] for file in outcome["files"]] == [path]


LOOK = """
which python; python -c 'import installed; print(installed.__file__)'; .venv/bin/python -c 'print("as a path")'
echo x > .venv/planted; echo y > .venv/lib/python*/site-packages/installed.py; git status --short; ls -a; tool
"""


@pytest.mark.slow
@both
def test_its_programs_come_first_and_it_cannot_be_written(cli: Cli, tmp_path: Path, sandbox: str):
    repo = make_repository(tmp_path / "app", PYTHON)
    editable(repo, "pip")
    tool = repo / ".venv/bin/tool"
    write_file(tool, f"#!{repo}/.venv/bin/python\nprint('a program of it')\n", 0o755)
    before = _contents(repo / ".venv")
    chosen = "auto" if sandbox == "bubblewrap" else sandbox
    ran = cli.on(repo, "fix", "--sandbox", chosen, "--json", "x", model=[shell(LOOK), DONE, DONE])
    printed = ran.requests[1].json["messages"][-1]["content"][0]["content"]
    lines = printed.splitlines()
    assert lines[0].endswith("/.venv/bin/python")
    assert "/.venv/lib/python3" in lines[1]
    assert {"as a path", "a program of it"} <= set(lines)
    assert "??" not in printed
    assert _contents(repo / ".venv") == before


def _contents(folder: Path) -> dict[str, bytes | str]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


RUBY = {
    ".gitignore": "vendor\n",
    ".github/agent.yml": POLICY.format("ruby test/app_test.rb"),
    "Gemfile": "",
    "test/app_test.rb": "puts '1..1', 'ok 1 - answer'\n",
}


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("files", "folder", "check"),
    [
        (PYTHON, ".venv", "python3 -m unittest discover -s checks"),
        (NODE, "node_modules", "node --test x.test.js"),
        (RUBY, "vendor", "ruby test/app_test.rb"),
    ],
    ids=["python", "node", "ruby"],
)
def test_nothing_takes_the_place_of_an_environment_that_is_not_shown(
    cli: Cli, tmp_path: Path, sandbox: str, files: dict[str, str], folder: str, check: str
):
    """The system has a Python, a Node and a Ruby that would pass these tests."""
    passing = {
        "checks/test_x.py": "import unittest\nclass X(unittest.TestCase):\n    def test_x(self): pass\n",
        "x.test.js": "require('node:test')('x', () => {})\n",
    }
    repo = make_repository(tmp_path / "app", {**files, **passing, ".github/agent.yml": POLICY.format(check)})
    if folder == ".venv":
        editable(repo, "pip")
    (repo / folder).mkdir(exist_ok=True)
    (repo / folder).chmod(0o777)
    chosen = "auto" if sandbox == "bubblewrap" else sandbox
    ran = cli.on(
        repo, "fix", "--sandbox", chosen, "--json", "x", model=[shell("echo new > new.txt"), DONE, DONE]
    )
    told = ran.requests[0].json["messages"][0]["content"][0]["text"]
    sentence = (
        f"{folder} is not shown to commands: others can write in {repo}/{folder}. Nothing takes its place"
    )
    outcome = ran.json["outcome"]
    assert states(outcome) == ["not_runnable", "not_runnable"]
    [note] = outcome["notes"]
    for text in (told, ran.err, note, outcome["checks"][0]["after"]["note"]):
        assert sentence in text


@pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")
def test_what_the_model_puts_in_the_place_of_a_link_of_ours_is_judged(cli: Cli, tmp_path: Path):
    repo = make_repository(tmp_path / "app", PYTHON)
    editable(repo, "pip")
    steps = [shell("rm .venv; ln -s /etc .venv"), DONE, DONE]
    ran = cli.on(repo, "fix", "--sandbox", "landlock", "--json", "x", model=steps)
    assert ran.json["outcome"]["stop_reason"] == "gate"
    assert "points to an absolute path" in ran.json["outcome"]["reason"]
