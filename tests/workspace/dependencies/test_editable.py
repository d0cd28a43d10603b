"""Which editable installs of the repository lead into the tree after all."""

from pathlib import Path

import pytest

from bot.workspace.dependencies import dependencies
from bot.workspace.environment import of_dependencies
from bot.workspace.sandbox.confinement import EnvironmentFolder

TRACKED = ("src/app/__init__.py", "libs/one/one.py", "flat/__init__.py")
FINDER = "from x import y\nMAPPING: dict[str, str] = {mapping}\nNAMESPACES: dict[str, list[str]] = {{}}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "app/.venv/lib/python3.11/site-packages"
    folder.mkdir(parents=True)
    return folder


def imports(tmp_path: Path) -> tuple[str, ...]:
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv", "bin")
    return dependencies([folder], [tmp_path / "app"], TRACKED).import_from


def test_lines_of_paths_lead_into_the_tree(site: Path, tmp_path: Path):
    (site / "_app.pth").write_text(f"{tmp_path}/app/src\n")
    (site / "one.egg-link").write_text(f"{tmp_path}/app/libs/one\n.")
    (site / "two.pth").write_text("../../../../libs/one\n")
    (site / "other.pth").write_text("import sys\n# a comment\n/opt/other\n")
    assert set(imports(tmp_path)) == {"src", "libs/one"}


def test_a_finder_leads_into_the_tree_if_names_and_folders_agree(site: Path, tmp_path: Path):
    app = f"{tmp_path}/app"
    mapping = {"app": f"{app}/src/app", "one": f"{app}/libs/one/one.py", "flat": f"{app}/flat"}
    (site / "__editable___app_finder.py").write_text(FINDER.format(mapping=mapping))
    (site / "__editable___odd_finder.py").write_text(FINDER.format(mapping={"odd": f"{app}/src/app"}))
    assert set(imports(tmp_path)) == {"src", "libs/one", "."}


@pytest.mark.parametrize("line", ["{top}/build/made", "{top}/.git", "{top}/src\n{top}/elsewhere"])
def test_what_the_commit_does_not_have_is_not_covered(site: Path, tmp_path: Path, line: str):
    (site / "app.pth").write_text(line.format(top=tmp_path / "app"))
    assert imports(tmp_path) == ()


def test_the_tree_comes_before_a_copy_that_is_installed(site: Path, tmp_path: Path):
    """On both back ends: a copy is the changed tree at no path."""
    for name in ("app", "tests", "other"):
        (site / name).mkdir()
        (site / name / "__init__.py").touch()
    (site / "flat").symlink_to(tmp_path)
    (site / "single.py").touch()
    folder = EnvironmentFolder(tmp_path / "app/.venv", ".venv", "bin")
    tracked = (*TRACKED, "tests/__init__.py", "single.py")
    dependencies_of_tree = dependencies([folder], [tmp_path / "app"], tracked)
    assert dependencies_of_tree.before_copies == ("src", ".")
    for moved in (True, False):
        variables = of_dependencies(dependencies_of_tree, "/tree", "/usr/bin", moved=moved)
        assert variables["PYTHONPATH"] == "/tree/src:/tree"


def test_a_link_or_a_pipe_in_its_place_is_not_opened(site: Path, tmp_path: Path):
    (tmp_path / "secret").write_text(f"{tmp_path}/app/src\n")
    (site / "app.pth").symlink_to(tmp_path / "secret")
    assert imports(tmp_path) == ()
