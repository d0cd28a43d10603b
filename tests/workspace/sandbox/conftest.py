"""One tool host a world, for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.support.worlds import Inside, World, opened


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> World:
    found: World = request.param
    return found


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with opened(world) as found:
        yield found
