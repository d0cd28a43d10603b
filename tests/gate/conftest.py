from pathlib import Path

import pytest

from tests.support.trees import Bench, copy_of_bench


@pytest.fixture
def desk(pristine: Bench, tmp_path: Path) -> Bench:
    """A copy of the module's `pristine` bench, to be changed."""
    return copy_of_bench(pristine, tmp_path)
