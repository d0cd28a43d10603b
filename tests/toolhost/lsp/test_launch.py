"""Whose a program is, and whether the run changed it: by the commit, by what the tools wrote, by its time."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.contracts.tools import Answer
from bot.ecosystems.language_server import Launch
from bot.ecosystems.registry import servers
from bot.toolhost.context import Context, Records
from bot.toolhost.lsp.launch import Launcher, Settings
from bot.toolhost.resource_limits import MIB, ResourceLimits

SINCE = 1_000
"""Nanoseconds: what is younger was made by the run."""


@pytest.fixture
def context(tmp_path: Path) -> Context:
    for name in ("tree/bin", "path"):
        (tmp_path / name).mkdir(parents=True)
    return Context(
        root=tmp_path / "tree",
        tmp=tmp_path,
        spill=tmp_path,
        environment={"PATH": f"{tmp_path}/path:{tmp_path}/tree/bin"},
        ask=lambda *asked: Answer(True),
        records=Records(),
        programs={"ty": f"{tmp_path}/tree/bin/ty"},
    )


def old(path: Path, text: str = "x") -> None:
    path.write_text(text)
    os.utime(path, ns=(1, 1))


def written(context: Context) -> None:
    old(context.root / "bin/a")
    context.originals["bin/a"] = None


def linked(context: Context) -> None:
    old(context.root / "bin/b")
    (context.root / "bin/a").symlink_to("../bin/b")


def linked_to_new(context: Context) -> None:
    (context.root / "bin/b").write_text("x")
    (context.root / "bin/a").symlink_to("../bin/b")
    os.utime(context.root / "bin/a", ns=(1, 1), follow_symlinks=False)


def linked_folder(context: Context) -> None:
    old(context.root / "bin/a")
    (context.root / "bin").rename(context.root / "other")
    (context.root / "bin").symlink_to("other")


MADE: dict[str, tuple[Callable[[Context], None], str]] = {
    "as in the commit": (lambda context: (context.root / "bin/c").write_text("base"), ""),
    "not as in the commit": (lambda context: old(context.root / "bin/c"), "bin/c"),
    "of setup": (lambda context: old(context.root / "bin/a"), ""),
    "of a tool": (written, "bin/a"),
    "of a command": (lambda context: (context.root / "bin/a").write_text("x"), "bin/a"),
    "a link": (linked, "bin/a"),
    "what a link leads to": (linked_to_new, "bin/b"),
    "a folder that is a link": (linked_folder, "bin"),
    "a link into itself": (lambda context: (context.root / "bin/a").symlink_to("a"), "bin/a"),
    "not there": (lambda context: None, ""),
}


@pytest.mark.parametrize("name", MADE)
def test_a_program_of_the_tree_is_started_as_the_run_found_it(context: Context, name: str):
    make, changed = MADE[name]
    make(context)
    base = {"bin/c": b"base"}.get

    def refused(argv: tuple[str, ...], runs: tuple[str, ...] = ()) -> str:
        return Launcher(context, Settings(since=SINCE), base).refusal("biome", Launch(argv, runs=runs))

    program = "c" if "commit" in name else "a"
    why = f"{changed} was changed in this run, and would be run" if changed else ""
    assert refused((f"bin/{program}", "--lsp")) == why
    assert refused(("sh", f"{context.root}/bin/{program}")) == why
    assert refused(("sh",), (f"bin/{program}",)) == why
    if (context.root / "bin" / program).is_file():
        (context.root / "bin" / program).chmod(0o755)
        assert refused((program,)) == why


def test_a49_a_server_has_the_limits_of_a_command(context: Context):
    """Its hard bound on data stays, as a command's does."""
    context.monitor.limits = ResourceLimits(memory=512 * MIB, file=4 * MIB, open_files=99)
    launcher = Launcher(context, Settings(), lambda path: None)
    shown = "ulimit -Sn; ulimit -Sf; ulimit -Sd; ulimit -Sc"
    process = launcher.start(next(iter(servers())), Launch(("/bin/bash", "-c", shown)))
    assert process.communicate(timeout=60)[0].split() == [b"99", b"4096", b"524288", b"0"]


def test_links_that_the_sandbox_placed_while_the_host_started_are_no_change(context: Context):
    old(context.root / "bin/b")
    link = context.root / "bin/a"
    link.symlink_to("b")
    placed = link.lstat().st_mtime_ns

    def refused(starting: int, started: int) -> bool:
        settings = Settings(since=SINCE, starting=starting, started=started)
        return bool(Launcher(context, settings, lambda path: None).refusal("biome", Launch(("bin/a",))))

    assert not refused(placed - 1, placed + 1)
    assert refused(placed - 2, placed - 1), "a command of this tool host"
    assert refused(placed + 1, placed + 2), "a command of an earlier one"


def test_what_is_refused_is_and_ours_never(context: Context):
    (context.root / "bin/ty").write_text("x")
    ours = (context.programs["ty"], "server")

    def refused(settings: Settings, name: str, *argv: str) -> str:
        return Launcher(context, settings, lambda path: None).refusal(name, Launch(argv))

    some = Settings(refused={"ty": "a rule"})
    assert (refused(some, "ty", *ours), refused(some, "ty", "/usr/bin/ty")) == ("", "a rule")
    assert refused(some, "gopls", "gopls") == ""
