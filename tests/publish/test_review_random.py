"""Whatever a model says, GitHub takes the review. `python -m benchmarks --only reviews` publishes 1,000 of them."""

import pytest

from tests.publish.conftest import World
from tests.publish.random_reviews import random_reviews

REVIEWS = 5


@pytest.mark.slow
def test_no_review_is_refused(world: World):
    done = list(random_reviews(world, REVIEWS))
    assert [one for review in done for one in review.refused] == []
    # The test says something only where many of them stand on lines.
    assert sum(review.placed for review in done) > REVIEWS * 3


def test_a_refusal_would_be_seen(world: World):
    world.forge.fail_next("POST", "/reviews", status=422)
    first, second = random_reviews(world, 2)
    assert [one.status for one in first.refused] == [422]
    assert second.placed and not second.refused
