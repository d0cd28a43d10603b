"""What is shown to commands is what was checked: no link, socket, FIFO or device that a command could have put in its
place, before a sandbox is started, while it is started, or while it runs. On both back ends."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import NoSandboxError
from bot.session.workspaces.written_folders import remove_special_files
from bot.toolhost.mount_sources import MountSourceError, open_source
from bot.workspace.client import Workspace, WorkspaceError
from bot.workspace.sandbox.confinement import (
    Confinement,
    Dependencies,
    EnvironmentFolder,
    InheritedFiles,
    Mounts,
)
from tests.support.files import write_file
from tests.support.repositories import make_repository
from tests.support.workspaces import BACK_ENDS, EACH_BACK_END, Bench, bash

CANARY = "mount-canary-9d31"
each_back_end = pytest.mark.parametrize("back_end", EACH_BACK_END)

Swap = Callable[[Path, Path], None]
"""`swap(path, outside)`: put something in the place of `path`; the secret and the socket are in `outside`."""


def link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def link_above(path: Path, outside: Path) -> None:
    write_file(outside / path.name / "secret", CANARY)
    path.parent.rename(path.parent.with_name("aside"))
    path.parent.symlink_to(outside)


def folder(path: Path, outside: Path) -> None:
    write_file(path / "secret", CANARY)
    os.link(outside / "s", path / "s")


def fifo(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def device(path: Path, outside: Path) -> None:
    try:
        os.mknod(path, 0o20666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


SWAPS: tuple[Swap, ...] = (
    link,
    lambda path, outside: path.symlink_to(outside / "secret"),
    lambda path, outside: path.symlink_to(outside / "s"),
    lambda path, outside: os.link(outside / "s", path),
    link_above,
    fifo,
    device,
)


@dataclass
class Scene:
    """`sources` are the folders that commands could have written, by what they are for. Each is alone in a folder."""

    folder: Path
    sources: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outside = self.folder / "o"
        write_file(self.outside / "secret", CANARY)
        make_repository(self.folder / "tree-above" / "tree", {"a.txt": "one\n"})
        for name in ("brought", "archive", "skills", "environment"):
            self.sources[name] = self.folder / f"{name}-above" / name
            write_file(self.sources[name] / "own", "ours")
        self.sources["tree"] = self.folder / "tree-above" / "tree"
        self.bench = Bench(self.folder, self.sources["tree"])

    def start(self, confinement: Confinement) -> Workspace:
        sources = self.sources
        environment = EnvironmentFolder(sources["environment"], ".venv", "bin", created=True)
        return self.bench.start(
            confinement,
            bring=(sources["brought"],),
            archives=(sources["archive"],),
            skills=sources["skills"],
            dependencies=Dependencies((environment,)),
        )

    def swap(self, name: str, swap: Swap) -> None:
        path = self.sources[name]
        if swap is not link_above:
            path.rename(self.folder / f"aside-{name}")
        swap(path, self.outside)

    def put_back(self, name: str, swap: Swap) -> None:
        path = self.sources[name]
        if swap is link_above:
            path.parent.unlink()
            path.parent.with_name("aside").rename(path.parent)
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        (self.folder / f"aside-{name}").rename(path)

    def seen(self, workspace: Workspace, name: str) -> str:
        """What a command finds where the source is, and at the sockets there."""
        path = self.sources[name]
        places = " ".join(map(str, (path, f"/run/slash-agent/{name}", self.outside, workspace.root, ".venv")))
        sockets = f"{path} {path}/s {self.outside}/s {workspace.root}/s /run/slash-agent/{name}/s .venv/s"
        connect = f"""python3 - {sockets} <<'END'
import socket, sys
for path in sys.argv[1:]:
    try:
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        print("conn" + "ected", path)
    except OSError:
        pass
END"""
        command = f"cat {places} 2>/dev/null; grep -rs . {places}\n{connect}"
        return bash(workspace, command, timeout=20).content


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        built = Scene(tmp_path)
        stack.callback(built.bench.close)
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        here = os.getcwd()
        os.chdir(built.outside)  # a path of a socket has at most 107 bytes
        listener.bind("s")
        os.chdir(here)
        listener.listen(8)
        yield built


# Every source is opened by one function, so all that it refuses is put in the place of one of them.
SWAPPED = [
    *(("brought", swap) for swap in SWAPS),
    *((name, swap) for name in ("tree", "archive", "skills", "environment") for swap in (link, link_above)),
]
each_swap = pytest.mark.parametrize(
    ("name", "swap"), SWAPPED, ids=[f"{name}-{swap.__name__}" for name, swap in SWAPPED]
)
each_source = pytest.mark.parametrize("name", ["tree", "brought", "archive", "skills", "environment"])


@each_back_end
@each_swap
def test_a85_what_is_put_in_the_place_of_a_source_before_the_start_is_refused(
    scene: Scene, back_end: str, name: str, swap: Swap
):
    scene.swap(name, swap)
    with pytest.raises((NoSandboxError, WorkspaceError, FileExistsError)):
        scene.start(BACK_ENDS[back_end]())


@each_back_end
def test_a_new_folder_in_the_place_of_a_source_is_shown(scene: Scene, back_end: str):
    scene.swap("brought", lambda path, outside: path.mkdir())
    (scene.sources["brought"] / "new").write_text("new content")
    assert "new content" in scene.seen(scene.start(BACK_ENDS[back_end]()), "brought")


class SwappedMeanwhile:
    """A back end that is overtaken by a command between its look at the sources and the start of the program."""

    def __init__(self, confinement: Confinement, swap: Callable[[], None]) -> None:
        self._confinement = confinement
        self._swap = swap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._confinement, name)

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        command = self._confinement.command(argv, mounts, inherited)
        self._swap()
        return command


@each_back_end
@each_swap
def test_a85_what_is_put_there_while_the_sandbox_starts_is_not_shown(
    scene: Scene, back_end: str, name: str, swap: Swap
):
    confinement: Any = SwappedMeanwhile(BACK_ENDS[back_end](), lambda: scene.swap(name, swap))
    with suppress(NoSandboxError, WorkspaceError):
        seen = scene.seen(scene.start(confinement), name)
        assert CANARY not in seen
        assert "connected" not in seen


@each_back_end
@each_source
def test_a85_what_is_put_there_while_commands_run_is_not_shown(scene: Scene, back_end: str, name: str):
    workspace = scene.start(BACK_ENDS[back_end]())
    for swap in (*SWAPS, folder):
        scene.swap(name, swap)
        seen = scene.seen(workspace, name)
        assert CANARY not in seen, swap
        assert "connected" not in seen, swap
        scene.put_back(name, swap)


@pytest.mark.parametrize("swap", SWAPS, ids=lambda one: one.__name__)
def test_a86_no_socket_link_fifo_or_device_is_opened(tmp_path: Path, scene: Scene, swap: Swap):
    scene.swap("brought", swap)
    with pytest.raises(
        MountSourceError, match=r"brought is not shown to commands: .* is a (link|socket|FIFO|device)"
    ):
        open_source(str(scene.sources["brought"]), of_run=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_source_of_the_run_that_belongs_to_somebody_else_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    os.chown(scene.sources["brought"], 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    with pytest.raises(MountSourceError, match="belongs to user 12345"):
        open_source(str(scene.sources["brought"]), of_run=True)
    os.close(open_source(str(scene.sources["brought"]), of_run=False))


@each_back_end
def test_a88_an_environment_that_commands_made_shows_no_python_that_it_names(
    scene: Scene, back_end: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bot.workspace.sandbox.toolchains.NEVER", ())
    other = scene.folder / "other" / ".venv"
    (other / "bin").mkdir(parents=True)
    (other / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (other / "settings").write_text(CANARY)
    venv = scene.sources["environment"]
    (venv / "bin").mkdir()
    (venv / "pyvenv.cfg").write_text(f"home = {other}/bin\n")
    workspace = scene.start(BACK_ENDS[back_end]())
    assert CANARY not in bash(workspace, f"cat {other}/settings .venv/settings").content


def test_a86_special_files_below_what_commands_wrote_are_removed(tmp_path: Path):
    inner = tmp_path / "written" / "a" / "b"
    inner.mkdir(parents=True)
    os.mkfifo(inner / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(inner)
        listener.bind("s")
        os.chdir(here)
    outside = tmp_path / "outside"
    outside.mkdir()
    os.mkfifo(outside / "fifo")
    (inner / "link").symlink_to(outside)
    (inner / "file").write_text("x")
    remove_special_files(tmp_path / "written")
    assert sorted(os.listdir(inner)) == ["file", "link"]
    assert os.listdir(outside) == ["fifo"]
    shutil.rmtree(tmp_path / "written")
    (tmp_path / "written").symlink_to(outside)
    remove_special_files(tmp_path / "written")
    assert os.listdir(outside) == ["fifo"]
