"""What a person's shell leads to works for commands, and nothing beside it is shown: no secret (A-119), and no program
of the person's behind a socket or a FIFO (A-118)."""

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from bot.workspace.sandbox import bubblewrap, toolchains
from bot.workspace.sandbox.bubblewrap import Bubblewrap
from bot.workspace.sandbox.confinement import Dependencies, EnvironmentFolder, Mounts
from tests.support.files import write_file
from tests.support.repositories import make_repository
from tests.support.sandbox_commands import sandbox_command
from tests.support.workspaces import BACK_ENDS, EACH_BACK_END, EACH_THAT_SEVERS, Bench, bash

CANARY = "canary-5be1c0d7"
_URL = f"https://me:{CANARY}@code.example/x"

TOOLS = (
    ".local/share/pipx/venvs/one/bin/pipx-tool", ".local/share/uv/tools/two/bin/uv-tool",
    ".local/lib/node_modules/three/bin/npm-tool", "programs/single-tool", ".pyenv/shims/pyenv-tool",
    ".rbenv/shims/rbenv-tool", ".nvm/versions/node/v22.1.0/bin/node-tool", ".cargo/bin/cargo-tool",
    ".sdkman/candidates/gradle/current/bin/gradle-tool", "go/bin/go-tool", "environments/app/bin/venv-tool",
)  # fmt: skip
"""The first four are behind links in `~/.local/bin`, the others in folders of PATH."""

CANARIES = {
    "notes.txt": CANARY,
    "programs/secret": CANARY,
    ".netrc": CANARY,
    ".npmrc": f"//registry.example/:_authToken={CANARY}",
    ".yarnrc.yml": f"npmAuthToken: {CANARY}",
    ".pypirc": CANARY,
    ".condarc": CANARY,
    ".ssh/id_ed25519": CANARY,
    ".local/state/history": CANARY,
    ".local/bin-of-others/x": CANARY,
    ".config/pip/pip.conf": CANARY,
    ".config/pypoetry/auth.toml": CANARY,
    ".config/composer/auth.json": CANARY,
    ".config/pnpm/rc": CANARY,
    ".local/share/uv/credentials/credentials.toml": CANARY,
    ".local/share/pipx/venvs/other/secret": CANARY,
    ".local/share/uv/tools/other/secret": CANARY,
    ".local/lib/node_modules/other/secret": CANARY,
    ".m2/settings.xml": CANARY,
    ".gradle/gradle.properties": CANARY,
    ".gradle/init.d/company.gradle": CANARY,
    ".gradle/caches/modules-2/gc.properties": CANARY,
    ".gem/credentials": CANARY,
    ".bundle/config": CANARY,
    ".nuget/NuGet/NuGet.Config": CANARY,
    ".cargo/credentials.toml": CANARY,
    ".cargo/config.toml": f'[registries.x]\ntoken = "{CANARY}"',
    ".cargo/git/db/private-1a2b/config": f"[remote]\n\turl = {_URL}",
    ".cargo/registry/index/private-1a2b/.git/config": f"[remote]\n\turl = {_URL}",
    "go/pkg/mod/cache/vcs/1a2b/config": f"[remote]\n\turl = {_URL}",
    "go/pkg/sumdb/sum.example/latest": CANARY,
    "go/src/private/secret.go": CANARY,
    ".pyenv/.git/config": f"[remote]\n\turl = {_URL}",
    ".pyenv/plugins/company/.git/config": f"[remote]\n\turl = {_URL}",
    ".pyenv/versions/3.9.1/pip.conf": f"[global]\nindex-url = {_URL}",
    ".nvm/.git/config": f"[remote]\n\turl = {_URL}",
    ".nvm/versions/node/v22.1.0/etc/npmrc": f"//registry.example/:_password={CANARY}",
    ".sdkman/etc/config": f"sdkman_api_key={CANARY}",
    ".sdkman/candidates/gradle/current/init.d/company.gradle": f"password = '{CANARY}'",
    "environments/other/secret": CANARY,
    "environments/app/.env": f"API_KEY={CANARY}",
    "environments/app/lib/python3.12/site-packages/x-1.dist-info/direct_url.json": f'{{"url": "{_URL}"}}',
    "environments/app/conda-meta/history": f"https://conda.example/t/{CANARY}/main",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        built = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
        stack.callback(built.close)
        yield built


@pytest.mark.parametrize("back_end", [*EACH_BACK_END, EACH_THAT_SEVERS[0]])
def test_a119_tools_work_and_no_secret_round_them_is_shown(home: Path, bench: Bench, back_end: str):
    for name in TOOLS:
        write_file(home / name, "#!/bin/sh\necho $(basename $0) works\n", 0o755)
    for folder in (".local/share/pipx/venvs/one", ".local/share/uv/tools/two", "environments/app"):
        write_file(home / folder / "pyvenv.cfg", "home = /usr/bin\n")
    (home / ".local/bin").mkdir()
    for name in TOOLS[:4]:
        (home / ".local/bin" / Path(name).name).symlink_to(home / name)
    for name, text in CANARIES.items():
        write_file(home / name, text)
        (bench.tree / f"link-{name.replace('/', '-')}").symlink_to(home / name)
    for place in ("bin", "lib"):
        (home / f".local/{place}/up").symlink_to(home)
    path = ":".join(
        [str(home / ".local/bin"), *(str((home / name).parent) for name in TOOLS[4:]), "/usr/bin:/bin"]
    )
    source = {"PATH": path, "HOME": str(home), "VIRTUAL_ENV": str(home / "environments/app")}
    workspace = bench.start(BACK_ENDS[back_end](), environment=source, with_caches=True)
    for name in TOOLS:
        assert f"{Path(name).name} works" in bash(workspace, Path(name).name).content
    places = " ".join(shlex.quote(str(home / name)) for name in CANARIES)
    output = bash(
        workspace,
        f"for root in '' /proc/self/root /proc/1/root; do for file in {places}; do cat $root$file; done; done; "
        f"cat link-* {home}/.local/bin/up/notes.txt /proc/*/environ /proc/*/cwd/*; "
        f"grep -rs {CANARY[:9]} {home} ~ .; true",
        timeout=60,
    ).content
    assert CANARY not in output
    assert "denied" in output or "No such file" in output


@pytest.mark.parametrize("back_end", EACH_THAT_SEVERS)
def test_a118_a_socket_or_a_fifo_that_appears_later_leads_nowhere(
    home: Path, bench: Bench, back_end: str, tmp_path: Path
):
    tool, app, packages = home / ".pyenv/bin", tmp_path / "app/.venv", tmp_path / "app/node_modules"
    write_file(tool / "hello", "#!/bin/sh\necho hello\n", 0o755)
    write_file(app / "pyvenv.cfg", "home = /usr/bin\n")
    write_file(packages / "one/index.js", "1")
    write_file(home / ".nuget/packages/one/1.0/one.nupkg", "1")
    folders = EnvironmentFolder(app, ".venv", "bin"), EnvironmentFolder(packages, "node_modules", ".bin")
    workspace = bench.start(
        BACK_ENDS[back_end](),
        environment={"PATH": f"{tool}:/usr/bin:/bin", "HOME": str(home)},
        with_caches=True,
        dependencies=Dependencies(folders),
    )
    assert "hello" in bash(workspace, "hello").content
    within = (tool, app, packages / "one", home / ".nuget/packages/one")
    with ExitStack() as stack:
        here = os.getcwd()
        stack.callback(os.chdir, here)
        for folder in within:
            os.chdir(folder)  # a path of a socket has at most 107 bytes
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind("s")
            listener.listen(8)
            os.mkfifo("fifo")
            stack.callback(os.close, os.open("fifo", os.O_RDONLY | os.O_NONBLOCK))
        os.chdir(here)
        places = [
            str(tool),
            f"{workspace.root}/.venv",
            f"{workspace.root}/node_modules/one",
            "~/.nuget/packages/one",
        ]
        script = f"""python3 - {" ".join(places)} <<'END'
import os, socket, sys
for path in sys.argv[1:]:
    os.chdir(path)
    print("in", path)
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(socket.AF_UNIX, kind).connect("s")
            print("conn" + "ected", path)
        except OSError as error:
            print(error)
    try:
        os.write(os.open("fifo", os.O_WRONLY | os.O_NONBLOCK), b"x")
        print("writ" + "ten", path)
    except OSError as error:
        print(error)
END"""
        output = bash(workspace, f"cd {workspace.root}; {script}").content
    assert output.count("in ") == len(places), output
    assert "connected" not in output
    assert "written" not in output


def special(path: Path, kind: str) -> None:
    if kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a device":
        try:
            os.mknod(path, 0o20600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(path.parent)
            listener.bind(path.name)
            os.chdir(here)


@pytest.mark.parametrize("kind", ["a socket", "a FIFO", "a device"])
def test_a118_a_folder_that_holds_one_is_not_shown_and_that_is_said(home: Path, kind: str):
    places = {
        "tools/bin": "deep/x",
        ".nuget/packages": "x",
        "app/.venv": "lib/x",
        ".nvm": "x",
        "fine/bin": "",
    }
    for folder, name in places.items():
        (home / folder / Path(name).parent).mkdir(parents=True)
        if name:
            special(home / folder / name, kind)
    environments = (
        EnvironmentFolder(home / "app/.venv", ".venv", "bin"),
        EnvironmentFolder(home / "fine", "vendor"),
    )
    path = f"{home}/tools/bin:{home}/fine/bin"
    for severs in (False, True):
        found = toolchains.find({"PATH": path, "HOME": str(home)}, environments=environments, severs=severs)
        assert (home / "fine/bin" in found.folders, environments[1] in found.environments) == (True, True)
        assert (home / "tools/bin" in found.folders, home / ".nvm" in found.folders) == (severs, severs)
        assert (environments[0] in found.environments, bool(found.caches)) == (severs, severs)
        held = f"it holds {kind}, {home / 'app/.venv/lib/x'}"
        assert found.environments[0].unshown == ("" if severs else held)
        wanted = {
            f"{home / folder}{' of PATH' if folder == 'tools/bin' else ''} is not shown to commands: it holds {kind}, "
            f"{home / folder / name}."
            for folder, name in places.items()
            if name and folder != "app/.venv"
        }
        assert set(found.notes) == (set() if severs else wanted)


def test_the_search_for_sockets_has_a_limit(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toolchains, "_MOST_ENTRIES", 10)
    for number in range(10):
        (home / "tools" / str(number)).mkdir(parents=True)
    special(home / "tools/9/x", "a FIFO")
    assert toolchains.special_file_in(home / "tools") == ""
    special(home / "tools/x", "a FIFO")
    assert toolchains.special_file_in(home / "tools")


def test_a_folder_with_other_mounts_in_it_is_shown_without_an_overlay(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    (home / ".nvm/volume").mkdir(parents=True)
    sandbox = Bubblewrap("/usr/bin/bwrap", (0, 11, 0), overlays=True)
    mounts = Mounts(home, "/work", toolchains=(home / ".nvm",))
    overlay = ("--tmp-overlay", str(home / ".nvm"))
    assert overlay in pairwise(sandbox_command(sandbox, mounts))
    monkeypatch.setattr(bubblewrap, "_mount_points", lambda: (str(home / ".nvm/volume"),))
    assert overlay not in pairwise(sandbox_command(sandbox, mounts))
