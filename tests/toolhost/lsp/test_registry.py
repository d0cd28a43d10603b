"""How each server is started for a project, and why not where it is not."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bot.contracts.tools import Answer
from bot.ecosystems.language_server import Launch, Server
from bot.ecosystems.program_search import Place
from bot.ecosystems.registry import ecosystems, servers
from bot.toolhost.context import Context, Records
from bot.toolhost.lsp.launch import Launcher, Settings, replace_command
from bot.toolhost.resource_limits import MIB, ResourceLimits
from tests.support.files import write_file


def spec(name: str) -> Server:
    return next(one for one in servers() if one.name == name)


def project(root: Path, files: Mapping[str, str], programs: tuple[str, ...] = ()) -> None:
    for name, text in {**files, **dict.fromkeys(programs, "#!/bin/sh\n")}.items():
        write_file(root / name, text, 0o755)


BINS = tuple(folder for one in ecosystems() for folder in one.bins)


def location(root: Path, folder: str = "", **programs: str) -> Place:
    return Place(root, root / folder, {"PATH": str(root / "path")}, programs, BINS)


def argv(root: Path, start: Launch | str) -> str:
    assert isinstance(start, Launch), start
    return " ".join(start.argv).replace(f"{root}/", "")


def test_a_folder_that_cannot_be_looked_into_has_no_settings_and_no_programs(tmp_path: Path):
    for one in servers():
        found = one.find(location(tmp_path, "x" * 300))
        assert isinstance(found, str), one.name


@pytest.mark.parametrize(
    ("files", "configured"),
    [
        ({}, ["E9", "F63", "F7", "F82"]),
        ({"pyproject.toml": "[project]\n"}, ["E9", "F63", "F7", "F82"]),
        ({"pyproject.toml": "[dependency-groups]\ndev = ['ruff>=0.4']\n"}, ["E9", "F"]),
        ({".pre-commit-config.yaml": "- repo: x/ruff-pre-commit\n  hooks:\n  - id: ruff\n"}, ["E9", "F"]),
        ({"pyproject.toml": "[tool.ruff.lint]\nselect = ['ALL']\n"}, []),
        ({"ruff.toml": ""}, []),
        ({"lib/.ruff.toml": ""}, []),
    ],
)
def test_ruff_looks_for_errors_alone_where_nobody_configured_it(
    tmp_path: Path, files: dict[str, str], configured: list[str]
):
    project(tmp_path, {"lib/a.py": "", **files})
    start = spec("ruff").find(location(tmp_path, "lib", ruff="ruff"))
    assert isinstance(start, Launch)
    assert start.options == ({"settings": {"lint": {"select": configured}}} if configured else None)


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({}, False),
        ({"pyproject.toml": "[project]\nname = 'twenty'\n[tool.mypy]\n"}, False),
        ({"Makefile": "test:\n\tpytest -p no:pty\n"}, False),
        ({"ty.toml": ""}, True),
        ({"pyproject.toml": "[tool.ty.rules]\n"}, True),
        ({"Makefile": "lint:\n\tuv run ty check\n"}, True),
        ({"lib/pyproject.toml": "[dependency-groups]\ndev = ['ty']\n"}, True),
    ],
)
def test_ty_looks_on_only_where_the_project_uses_it(tmp_path: Path, files: dict[str, str], used: bool):
    project(tmp_path, {"lib/a.py": "", **files})
    assert isinstance(spec("ty").find(location(tmp_path, "lib", ty="/ours/ty")), Launch) == used
    configured = location(tmp_path, "lib")._replace(configured="/own/ty")
    assert isinstance(spec("ty").find(configured), Launch)


def package(version: str) -> dict[str, str]:
    return {"node_modules/typescript/package.json": f'{{"version": "{version}"}}'}


SERVER = "typescript-language-server"
NO_TYPESCRIPT = f"there is neither TypeScript 7 in node_modules nor {SERVER}"
NEAREST = {f"packages/a/{name}": text for name, text in package("7.1.0").items()}
NO_LOCK = "there is no Cargo.lock, and cargo would write one"
STARTS: list[tuple[str, Mapping[str, str], tuple[str, ...], str, str]] = [
    ("ty", {"ty.toml": "", ".venv/pyvenv.cfg": ""}, (".venv/bin/ty",), "", ".venv/bin/ty server"),
    ("ruff", {}, ("path/ruff",), "", "path/ruff server"),
    ("typescript", package("7.0.2"), ("node_modules/.bin/tsc",), "src/deep", "node_modules/.bin/tsc --lsp --stdio"),
    ("typescript", package("5.9.3"), ("node_modules/.bin/tsc", f"node_modules/.bin/{SERVER}"), "",
     f"node_modules/.bin/{SERVER} --stdio"),
    ("typescript", {}, (f"path/{SERVER}",), "", f"path/{SERVER} --stdio"),
    ("typescript", package("5.9.3"), ("node_modules/.bin/tsc", "path/tsc"), "", NO_TYPESCRIPT),
    ("typescript", {**package("5.0.0"), **NEAREST}, ("packages/a/node_modules/.bin/tsc",), "packages/a/src",
     "packages/a/node_modules/.bin/tsc --lsp --stdio"),
    ("gopls", {"go.mod": ""}, ("path/gopls",), "src", "path/gopls"),
    ("gopls", {"go.mod": ""}, (), "", "it is not installed"),
    ("gopls", {}, ("path/gopls",), "", "there is no go.mod"),
    ("clangd", {"build/compile_commands.json": ""}, ("path/clangd",), "src",
     "path/clangd --background-index=false --compile-commands-dir=build"),
    ("clangd", {}, ("path/clangd",), "", "there is no compile_commands.json"),
    ("rust-analyzer", {"Cargo.toml": ""}, ("path/rust-analyzer",), "", NO_LOCK),
    ("biome", {"biome.jsonc": ""}, ("node_modules/.bin/biome",), "src", "node_modules/.bin/biome lsp-proxy"),
    ("biome", {"biome.json": ""}, (), "", "it is not installed"),
    ("biome", {}, ("node_modules/.bin/biome",), "", ""),
    ("oxlint", {".oxlintrc.json": ""}, ("node_modules/.bin/oxlint",), "src", "node_modules/.bin/oxlint --lsp"),
    ("oxlint", {}, ("node_modules/.bin/oxlint",), "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "programs", "folder", "started"), STARTS)
def test_how_a_server_starts_or_why_it_does_not(
    tmp_path: Path, name: str, files: Mapping[str, str], programs: tuple[str, ...], folder: str, started: str
):
    project(tmp_path, files, programs)
    found = spec(name).find(location(tmp_path, folder))
    assert (argv(tmp_path, found) if isinstance(found, Launch) else found) == started


def test_an_old_typescript_runs_by_files_that_this_run_may_not_have_changed(tmp_path: Path):
    library = {f"node_modules/typescript/lib/{name}.js": "" for name in ("tsserver", "typescript")}
    project(tmp_path, {**package("5.4.5"), **library}, ("path/typescript-language-server",))
    start = spec("typescript").find(location(tmp_path))
    assert isinstance(start, Launch)
    assert {Path(one).relative_to(tmp_path).as_posix() for one in start.runs} == set(library)


def test_nothing_above_the_tree_is_looked_at(tmp_path: Path):
    project(tmp_path, {"go.mod": "", "tree/a.go": ""}, ("path/gopls",))
    assert spec("gopls").find(Place(tmp_path / "tree", tmp_path, {"PATH": ""}, {})) == "there is no go.mod"


def test_a_policy_s_command_keeps_the_usual_options():
    usual = Launch(("ruff", "server"), {"settings": 1})
    start = replace_command("'my tools/ruff' server -v", usual)
    assert start == Launch(("my tools/ruff", "server", "-v"), {"settings": 1})
    assert replace_command("'", usual) == "its command in the policy cannot be read: No closing quotation"
    assert isinstance(replace_command("x", "it is not installed"), Launch)


def test_a_server_works_in_the_project_of_the_file(tmp_path: Path):
    files = ("a/pyproject.toml", "a/.venv/pyvenv.cfg", ".venv/pyvenv.cfg", "b/go.mod", "c/go.work", "c/d/go.mod",
             "biome.json", "b/biome.json", "b/Cargo.lock", "b/Cargo.toml", "b/member/Cargo.toml")  # fmt: skip
    used = {"Makefile": "lint:\n\tty check\n"}
    project(
        tmp_path, {**dict.fromkeys(files, ""), **used}, ("path/gopls", "path/rust-analyzer", "path/biome")
    )
    roots = {
        ("ty", "a/src"): "a", ("ty", "b"): None, ("ruff", "a"): None, ("gopls", "b/x"): "b",
        ("gopls", "c/d"): "c", ("biome", "b/src"): "", ("rust-analyzer", "b/member/src"): "b",
    }  # fmt: skip
    for (name, folder), root in roots.items():
        start = spec(name).find(location(tmp_path, folder, ty="/ty", ruff="/ruff"))
        assert isinstance(start, Launch), start
        assert start.root == (None if root is None else tmp_path / root), name
    ty = {folder: spec("ty").find(location(tmp_path, folder, ty="/ty")) for folder in ("a/src", "b")}
    found = {folder: start.variables for folder, start in ty.items() if isinstance(start, Launch)}
    assert found == {
        "a/src": {"VIRTUAL_ENV": f"{tmp_path}/a/.venv"},
        "b": {"VIRTUAL_ENV": f"{tmp_path}/.venv"},
    }
    named = Place(tmp_path, tmp_path, {"VIRTUAL_ENV": "/named"}, {"ty": "/ty"})
    start = spec("ty").find(named)
    assert isinstance(start, Launch)
    assert start.variables == {"VIRTUAL_ENV": "/named"}


# How they are started


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
