from collections.abc import Iterator
from pathlib import Path

import pytest

from slash_forge import Forge
from tests.support.stage import Stage, open_stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Forge() as forge:
        yield open_stage(forge, tmp_path / "stage")
