"""Steps on real files: all of them or none, deletions last, whatever fails."""

import os
from pathlib import Path

import pytest

from bot.toolhost import write_changes
from bot.toolhost.write_changes import Step, StepFailed, apply_steps


@pytest.fixture
def steps(tmp_path: Path) -> tuple[Step, ...]:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "b").chmod(0o751)
    return (
        Step(tmp_path / "a", b"a", None, 0o644), Step(tmp_path / "b", b"b", b"B", 0o751),
        Step(tmp_path / "sub" / "c", None, b"C"),
    )  # fmt: skip


def there(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail(monkeypatch: pytest.MonkeyPatch, what: str, name: str, error: BaseException) -> list[str]:
    """Let one thing fail for the file `name`; return what is put in its place, in order."""
    done: list[str] = []
    real_put, real_write = write_changes.put, write_changes.write_beside

    def put(step: Step, temporary: str) -> None:
        if (what, name) == ("put", step.path.name):
            raise error
        done.append(step.path.name)
        real_put(step, temporary)

    def write_beside(path: Path, data: bytes, mode: int | None) -> str:
        if (what, name) == ("write" if data.isupper() else "undo", path.name):
            raise error
        return real_write(path, data, mode)

    monkeypatch.setattr(write_changes, "put", put)
    monkeypatch.setattr(write_changes, "write_beside", write_beside)
    return done


def test_deletions_come_last(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = fail(monkeypatch, "", "", OSError())
    apply_steps(steps)
    assert there(tmp_path) == {"b": b"B", "sub/c": b"C"}
    assert done == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("what", "name"), [("write", "b"), ("write", "c"), ("put", "b"), ("put", "c"), ("put", "a")]
)
def test_a_step_that_fails_is_named_and_those_before_it_are_undone(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, name: str
) -> None:
    fail(monkeypatch, what, name, OSError(28, "No space left on device"))
    with pytest.raises(StepFailed) as caught:
        apply_steps(steps)
    assert (caught.value.path.name, caught.value.torn) == (name, ())
    assert there(tmp_path) == {"a": b"a", "b": b"b"}
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o751
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_what_cannot_be_undone_is_named(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "undo", "b", OSError(28, "No space left on device"))
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    with pytest.raises(StepFailed) as caught:
        apply_steps(steps)
    assert caught.value.torn == (tmp_path / "b",)
    assert there(tmp_path) == {"b": b"B"}


def test_an_interrupt_undoes_too(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "put", "a", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        apply_steps(steps)
    assert there(tmp_path) == {"a": b"a", "b": b"b"}
