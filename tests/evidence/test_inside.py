"""Paths of the tree that a check ran in, told as paths of the repository."""

from __future__ import annotations

import pytest

from bot.evidence.inside import relative

ROOT = "/tmp/slash-agent/20261122-x.y/tree"


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (f'File "{ROOT}/tests/test_a.py", line 3', 'File "tests/test_a.py", line 3'),
        (f"at run (file://{ROOT}/src/a.mjs:3:1)", "at run (src/a.mjs:3:1)"),
        (f"{ROOT}/.venv/bin/python", ".venv/bin/python"),
        (f"{ROOT}/@scope/a", "@scope/a"),
        (f"rootdir: {ROOT}\nplugins: x", "rootdir: .\nplugins: x"),
        (f"PATH={ROOT}/bin:{ROOT}/:{ROOT}", "PATH=bin:.:."),
        (f"It is in {ROOT}.", "It is in .."),
        (f"{ROOT}-2/a {ROOT}2/a {ROOT}.d/a", f"{ROOT}-2/a {ROOT}2/a {ROOT}.d/a"),
        (f"/mnt{ROOT}/a https://x.test{ROOT}/a", f"/mnt{ROOT}/a https://x.test{ROOT}/a"),
        ("/tmp/slash-agent/20261122-xzy/tree/a", "/tmp/slash-agent/20261122-xzy/tree/a"),
    ],
)
def test_only_what_lies_in_the_tree_is_told_from_there(printed: str, told: str) -> None:
    assert relative(printed, ROOT) == told
    assert relative(printed, f"{ROOT}/") == told


@pytest.mark.parametrize("root", ["", "/"])
def test_a_tree_that_is_everything_has_no_paths_of_its_own(root: str) -> None:
    assert relative("/usr/bin/x and /", root) == "/usr/bin/x and /"
