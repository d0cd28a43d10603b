"""Every row of the table of faults, on the real program. `make test` runs the first row of every fifth cause."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slash_forge import Forge
from tests.faults.rows import ROWS
from tests.faults.scene import Row, Scene, open_scene

SAMPLE = list({row.cause: row for row in reversed(ROWS)}.values())[7::5]


@pytest.fixture
def scene() -> Iterator[Scene]:
    # A short path: a run binds sockets below TMPDIR, and their names have an end.
    with tempfile.TemporaryDirectory(prefix="f-") as folder, Forge() as forge:
        yield open_scene(forge, Path(folder))


@pytest.mark.bubblewrap
@pytest.mark.parametrize("row", SAMPLE, ids=str)
def test_a_row_of_every_fifth_cause(scene: Scene, row: Row):
    scene.play(row)


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.parametrize("row", [row for row in ROWS if row not in SAMPLE], ids=str)
def test_every_other_row(scene: Scene, row: Row):
    scene.play(row)


def test_no_point_stands_twice():
    assert len({str(row) for row in ROWS}) == len(ROWS)
