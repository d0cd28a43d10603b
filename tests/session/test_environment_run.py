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

from bot.ecosystems.registry import checkers
from bot.session.workspaces import build_caches
from bot.session.workspaces.build_caches import BuildCache, command_for
from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.environment_runs import both, fixed, states
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Call, Step
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
        pytest.param(NODE, partial(linked, target="{}/packages/own"), RED, id="npm link", marks=pytest.mark.node),
    ],
)  # fmt: skip
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


# Build caches


# What a compiler would do, by the version of the tree: each round looks for what others left in the caches.
CHECK = """\
version=$(cat version.txt)
caches="$HOME/.cache/go-build $HOME/.gradle/caches $HOME/.cache/mypy target/debug"
for cache in $caches; do
  ls $cache 2>&1
  mkdir -p $cache
  [ ! -e $cache/poison ] || exit 3
  case $version in
    base) touch $cache/built ;;
    poison) touch $cache/poison; [ -e $cache/built ] || exit 4 ;;
    *) [ -e $cache/built ] || exit 5 ;;
  esac
done
[ $version != poison ]
"""
FILES = {
    ".gitignore": "target\n",
    ".github/agent.yml": "version: 1\ndiagnostics: {checkers: []}\nchecks: ['sh check.sh # cargo']\n",
    "Cargo.toml": "",
    "check.sh": CHECK,
    "version.txt": "base\n",
}


def change_to(version: str) -> Step:
    return shell(f"echo {version} > version.txt")


PLANT = shell(
    "for c in ~/.cache/go-build ~/.gradle/caches ~/.cache/mypy target/debug; do mkdir -p $c; touch $c/poison; done"
)


@both
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([change_to("changed")], [0, 0], id="the base builds", marks=pytest.mark.slow),
        pytest.param([PLANT, change_to("changed")], [0, 0], id="the model plants"),
        pytest.param([change_to("poison")], [0, 1], id="a changed tree fails", marks=pytest.mark.slow),
        pytest.param(
            [change_to("poison"), DONE, change_to("changed")],
            [0, 0],
            id="and a second change is checked",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a27_a_round_starts_from_what_the_base_built_and_from_nothing_else(
    cli: Cli, tmp_path: Path, sandbox: str, steps: list[Step], expected: list[int]
):
    repo = make_repository(tmp_path / "app", FILES)
    [check] = fixed(cli, repo, sandbox, *steps)["checks"]
    assert [check[side]["exit_code"] for side in ("before", "after")] == expected, check


@both
@pytest.mark.slow
def test_what_the_checkout_has_built_is_copied_and_never_written(cli: Cli, tmp_path: Path, sandbox: str):
    check = "[ -e target/debug/old ] && echo new > target/debug/old && touch target/debug/more"
    repo = make_repository(tmp_path / "app", {**FILES, "check.sh": check})
    debug = repo / "target/debug"
    write_file(debug / "old", "old\n")
    outcome = fixed(cli, repo, sandbox, change_to("changed"))
    assert states(outcome) == ["passed", "passed"], outcome["checks"]
    assert {one.name: one.read_text() for one in debug.iterdir()} == {"old": "old\n"}


@both
@pytest.mark.slow
def test_a45_a_link_in_the_place_of_a_cache_shows_nothing(cli: Cli, tmp_path: Path, sandbox: str):
    outside = tmp_path / "outside"
    write_file(outside / "secret", "hidden")
    check = (
        "[ $(cat version.txt) = base ] && { mkdir ~/.cache; ln -s OUT ~/.cache/go-build; ln -s OUT target; exit 0; }\n"
        "cat ~/.cache/go-build/secret target/secret OUT/secret\n"
        "! grep -rq hidden ~/.cache target OUT 2>/dev/null"
    ).replace("OUT", str(outside))
    repo = make_repository(tmp_path / "app", {**FILES, "check.sh": check})
    outcome = fixed(cli, repo, sandbox, change_to("changed"))
    assert states(outcome) == ["passed", "passed"], outcome["checks"]


def test_mypy_writes_its_cache_where_the_next_round_gets_a_copy():
    [mypy] = [one for one in checkers() if one.name == "mypy"]
    arguments = mypy.full_arguments
    folder = arguments[arguments.index("--cache-dir") + 1]
    assert folder.replace("{tmp}/home", "~") in build_caches._IN_HOME


def test_a_repository_of_maven_that_is_too_large_is_linked_and_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(build_caches, "_LARGEST_COPY", 1)
    source, home = tmp_path / "source", tmp_path / "home"
    for folder in (source, home):
        folder.mkdir()
    (source / "a.jar").write_bytes(b"x" * 2_000_000)
    command = command_for([BuildCache(source, "~/.m2/repository", linked=True)])
    subprocess.run(
        ["bash", "-c", command], env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True, cwd=tmp_path
    )
    assert (home / ".m2/repository").is_symlink()
    assert (home / ".m2/repository/a.jar").exists()
