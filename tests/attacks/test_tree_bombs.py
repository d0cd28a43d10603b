"""Commits of few bytes that unpack to too many files, folders or bytes."""

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.checkout import git, objects, remote
from bot.checkout.clone import Source, check_out
from bot.checkout.git import CheckoutError
from slash_forge import Forge
from tests.support.repositories import Repository

Bomb = Callable[[Repository], str]


def many_files(repository: Repository) -> str:
    """100,000 files from 6 objects; 11 objects make 10,000,000,000."""
    entry = ("100644", repository.store("blob", b"x"))
    for _ in range(5):
        entry = ("40000", repository.store_tree(*((entry[0], f"{n}", entry[1]) for n in range(10))))
    return entry[1]


def nested(repository: Repository) -> str:
    """Folders in folders, 300 deep."""
    entry = ("100644", repository.store("blob", b"x"))
    for _ in range(300):
        entry = ("40000", repository.store_tree((entry[0], "d", entry[1])))
    return entry[1]


def huge_file(repository: Repository) -> str:
    """A file whose object says that it unpacks to 11 GiB."""
    sha = repository.store("blob", b"x")
    path = repository.path / ".git" / "objects" / sha[:2] / sha[2:]
    path.write_bytes(zlib.compress(b"blob %d\0" % (11 << 30) + bytes(1000)))
    return repository.store_tree(("100644", "zeros", sha))


def one_long_path(repository: Repository) -> str:
    return repository.store_tree(("100644", "x" * 20_000, repository.store("blob", b"x")))


BOMBS: list[tuple[Bomb, str]] = [
    (many_files, "more than 10,000 files and folders"),
    (nested, "nests folders more than 256 deep"),
    (huge_file, "holds more than 10 GiB"),
    (one_long_path, "has a path of more than 4,096 bytes"),
]


@pytest.mark.parametrize(("bomb", "words"), BOMBS, ids=[bomb.__name__ for bomb, _ in BOMBS])
def test_a75_a_tree_bomb_is_refused_before_it_is_written(
    bomb: Bomb, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(objects, "MOST_ENTRIES", 10_000)
    repository = Repository(tmp_path / "source")
    repository.commit_of(bomb(repository))
    with pytest.raises(CheckoutError, match=words):
        check_out(Source(str(repository.path), "HEAD"), tmp_path / "run")
    assert not (tmp_path / "run" / "tree").exists()


def test_a75_nor_does_one_come_by_way_of_a_fetch(tmp_path: Path):
    repository = Repository(tmp_path / "source")
    repository.commit_of(nested(repository))
    with Forge() as forge:
        forge.add_user("ada")
        url = forge.clone_url(forge.create_repository("ada", "bomb", repository.path))
        with pytest.raises(CheckoutError, match=r"256 deep.* name a branch without it"):
            check_out(Source(url, "main"), tmp_path / "run")
    assert not (tmp_path / "run" / "tree").exists()


def test_a75_git_unpacks_no_more_than_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository = Repository(tmp_path / "source")
    repository.commit(zeros=bytes(30 << 20))
    for module in (git, remote):
        monkeypatch.setattr(module, "memory_limit", lambda: 24)
    with Forge() as forge:
        forge.add_user("ada")
        url = forge.clone_url(forge.create_repository("ada", "bomb", repository.path))
        with pytest.raises(CheckoutError, match="git needs more than 24 MiB of memory or 3600 s to unpack"):
            check_out(Source(url, "main"), tmp_path / "run")
