"""Steps on a file system in memory: all of them or none, deletions last, whatever fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.toolhost.transaction import Step, StepFailed, apply_steps

A, B, C = Path("a"), Path("b"), Path("c")


@dataclass
class Memory:
    """Files in a dictionary. What is named in `fails` fails; `done` is what happened, in order."""

    files: dict[Path, bytes]
    fails: frozenset[tuple[str, Path]] = frozenset()
    done: list[tuple[str, Path]] = field(default_factory=list)

    def prepare(self, step: Step) -> _Prepared:
        self.note("prepare", step.path)
        return _Prepared(self, step)

    def note(self, what: str, path: Path) -> None:
        if (what, path) in self.fails:
            raise OSError(28, "No space left on device")
        self.done.append((what, path))


@dataclass
class _Prepared:
    disk: Memory
    step: Step

    def put(self) -> None:
        self.disk.note("put", self.step.path)
        self._set(self.step.after)

    def undo(self) -> None:
        self.disk.note("undo", self.step.path)
        self._set(self.step.before)

    def done(self) -> None:
        self.disk.note("done", self.step.path)

    def _set(self, data: bytes | None) -> None:
        if data is None:
            del self.disk.files[self.step.path]
        else:
            self.disk.files[self.step.path] = data


STEPS = (Step(A, b"a", None), Step(B, b"b", b"B"), Step(C, None, b"C"))


def test_everything_is_prepared_before_anything_is_put_and_deletions_come_last() -> None:
    disk = Memory({A: b"a", B: b"b"})
    apply_steps(STEPS, disk)
    assert disk.files == {B: b"B", C: b"C"}
    assert disk.done == [
        ("prepare", B), ("prepare", C), ("prepare", A), ("put", B), ("put", C), ("put", A),
        ("done", A), ("done", C), ("done", B),
    ]  # fmt: skip


@pytest.mark.parametrize("what", ["prepare", "put"])
@pytest.mark.parametrize("path", [A, B, C])
def test_a_step_that_fails_is_named_and_those_before_it_are_undone(what: str, path: Path) -> None:
    disk = Memory({A: b"a", B: b"b"}, frozenset({(what, path)}))
    with pytest.raises(StepFailed) as caught:
        apply_steps(STEPS, disk)
    assert (caught.value.path, caught.value.torn) == (path, ())
    assert disk.files == {A: b"a", B: b"b"}
    prepared = {path for what, path in disk.done if what == "prepare"}
    assert prepared == {path for what, path in disk.done if what == "done"}


def test_what_cannot_be_undone_is_named() -> None:
    disk = Memory({A: b"a", B: b"b"}, frozenset({("put", A), ("undo", B)}))
    with pytest.raises(StepFailed) as caught:
        apply_steps(STEPS, disk)
    assert caught.value.torn == (B,)
    assert disk.files == {A: b"a", B: b"B"}


def test_an_interrupt_undoes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Memory({A: b"a", B: b"b"})
    note = Memory.note

    def interrupted(self: Memory, what: str, path: Path) -> None:
        if (what, path) == ("put", A):
            raise KeyboardInterrupt
        note(self, what, path)

    monkeypatch.setattr(Memory, "note", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apply_steps(STEPS, disk)
    assert disk.files == {A: b"a", B: b"b"}
