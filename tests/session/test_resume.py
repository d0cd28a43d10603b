"""Going on from a bundle that somebody changed: nothing of it comes to git before it was looked at."""

from pathlib import Path

import pytest

from bot.checkout.clone import Source
from bot.contracts.errors import UsageError
from bot.publish.bundle import Bundle
from bot.run.resume import apply_earlier_change
from tests.support.outcomes import make_outcome
from tests.support.repositories import Repository
from tests.support.runs import make_run
from tests.support.trees import bench

BOMB = (
    b"diff --git a/b b/b\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\n"
    b"literal 999999999999\nzc$xx\n\n"
)


def test_a_patch_that_unpacks_to_more_than_git_should_hold_is_refused_before_git_sees_it(tmp_path: Path):
    """The bundle names another base commit: then git merges what the gate would not have judged."""
    repository = Repository(tmp_path / "source")
    old = repository.commit(**{"a.txt": "one\n"})
    repository.commit(**{"a.txt": "two\n"})
    desk = bench(tmp_path, repository)
    bundle = Bundle(tmp_path, make_outcome(base_sha=old), BOMB, b"", "")
    source = Source(str(repository.path), "HEAD")
    run = make_run(tmp_path / "run", desk.checkout, continued=bundle, source=source)
    with pytest.raises(UsageError, match="unpacks to more than"):
        apply_earlier_change(run, lambda path, *more: None)
