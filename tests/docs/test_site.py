"""`make docs` builds every page into the site, and ends at whatever leads nowhere."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.site


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the build reads, to be broken."""
    for name in ("docs", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Makefile", "zensical.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "docs").symlink_to(ROOT / ".cache" / "docs")
    return tmp_path


def build(tree: Path) -> tuple[int, str]:
    done = subprocess.run(["make", "docs"], cwd=tree, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_page_is_in_the_site_with_its_pictures(tree: Path):
    code, said = build(tree)
    assert code == 0, said
    site = tree / "site"
    pictures = 0
    for page in (tree / "docs").glob("*.md"):
        built = site / ("" if page.stem == "index" else page.stem) / "index.html"
        for picture in re.findall(r'<img [^>]*src="(?!data:)([^"]+)"', built.read_text()):
            assert (built.parent / picture).exists(), f"{page.name}: {picture}"
            pictures += 1
    assert pictures >= 15
    assert 'class="admonition tip"' in (site / "tutorial" / "index.html").read_text()


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("docs/index.md", "(recipes.md)", "(receipts.md)", "page does not exist"),
        ("docs/index.md", "(policy.md)", "(policy.md#nowhere)", "anchor does not exist"),
        ("zensical.toml", '{ "Skills" = "skills.md" },', "", "docs/skills.md"),
        ("zensical.toml", '"skills.md" },', '"skills.md" }, { "Gone" = "gone.md" },', "docs/gone.md"),
    ],
)
def test_what_leads_nowhere_ends_the_build(tree: Path, file: str, old: str, new: str, told: str):
    text = (tree / file).read_text()
    (tree / file).write_text(text.replace(old, new))
    code, said = build(tree)
    assert code != 0
    assert told in said
