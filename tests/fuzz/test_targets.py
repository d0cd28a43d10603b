"""Each fuzz target for a moment, with the same inputs each time; `make fuzz` has others, and more."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.run import attempt
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_fails(name: str, tmp_path: Path) -> None:
    attempt(TARGETS[name], 15, tmp_path)


def test_an_input_that_fails_is_reported(tmp_path: Path) -> None:
    def never_long(data: st.DataObject, folder: Path) -> None:
        assert len(data.draw(st.text())) < 3

    with pytest.raises(AssertionError):
        attempt(never_long, 200, tmp_path)
