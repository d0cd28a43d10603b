"""How each server is started for a project, and why not where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bot.contracts.checkers import EDIT_CHECKERS, LANGUAGE_SERVERS
from bot.toolhost.lsp.registry import (
    SERVERS,
    TEXT_CHECKED,
    TSSERVER,
    LaunchCommand,
    Location,
    ServerSpec,
    is_checked,
    is_shell,
    replace_command,
)
from bot.toolhost.lsp.text_checkers import TEXT_CHECKERS


def spec(name: str) -> ServerSpec:
    return next(one for one in SERVERS if one.name == name)


def project(root: Path, files: Mapping[str, str], programs: tuple[str, ...] = ()) -> None:
    for name, text in {**files, **dict.fromkeys(programs, "#!/bin/sh\n")}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)


def location(root: Path, folder: str = "", **programs: str) -> Location:
    return Location(root, root / folder, {"PATH": str(root / "path")}, programs)


def argv(root: Path, start: LaunchCommand | str) -> str:
    assert isinstance(start, LaunchCommand), start
    return " ".join(start.argv).replace(f"{root}/", "")


def test_the_names_are_those_that_a_policy_may_name() -> None:
    assert tuple(one.name for one in SERVERS) == LANGUAGE_SERVERS
    assert {parser.name for parser in TEXT_CHECKERS} == set(TEXT_CHECKED) == set(EDIT_CHECKERS)


def test_a_folder_that_cannot_be_looked_into_has_no_settings_and_no_programs(tmp_path: Path) -> None:
    """One that may not be entered fails as a name does that is too long: breaks bot/toolhost/lsp/registry.py
    "if isfile(f / name)" (`Path.is_file` in its place)."""
    for one in SERVERS:
        found = one.find(location(tmp_path, "x" * 300))
        assert isinstance(found, str), one.name


def test_python_is_looked_at_by_our_own_first(tmp_path: Path) -> None:
    project(tmp_path, {"ty.toml": ""}, (".venv/bin/ty", "path/ruff"))
    assert argv(tmp_path, spec("ty").find(location(tmp_path, ty="/ours/ty"))) == "/ours/ty server"
    assert argv(tmp_path, spec("ty").find(location(tmp_path))) == ".venv/bin/ty server"
    assert argv(tmp_path, spec("ruff").find(location(tmp_path))) == "path/ruff server"
    assert spec("ty").find(Location(tmp_path, tmp_path, {"PATH": ""}, {})) != ""


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
) -> None:
    project(tmp_path, {"lib/a.py": "", **files})
    start = spec("ruff").find(location(tmp_path, "lib", ruff="ruff"))
    assert isinstance(start, LaunchCommand)
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
def test_ty_looks_on_only_where_the_project_uses_it(
    tmp_path: Path, files: dict[str, str], used: bool
) -> None:
    project(tmp_path, {"lib/a.py": "", **files})
    assert isinstance(spec("ty").find(location(tmp_path, "lib", ty="/ours/ty")), LaunchCommand) == used
    configured = replace(location(tmp_path, "lib"), configured="/own/ty")
    assert isinstance(spec("ty").find(configured), LaunchCommand)


def package(version: str) -> dict[str, str]:
    return {"node_modules/typescript/package.json": f'{{"version": "{version}"}}'}


@pytest.mark.parametrize(
    ("files", "programs", "started"),
    [
        (package("7.0.2"), ("node_modules/.bin/tsc",), "node_modules/.bin/tsc --lsp --stdio"),
        (
            package("5.9.3"),
            ("node_modules/.bin/tsc", "path/node"),
            " ".join(("path/node node_modules/typescript/lib/tsserver.js", *TSSERVER)),
        ),
        ({}, ("path/tsc",), "path/tsc --lsp --stdio"),
    ],
)
def test_typescript_is_the_project_s_own(
    tmp_path: Path, files: dict[str, str], programs: tuple[str, ...], started: str
) -> None:
    project(tmp_path, files, programs)
    start = spec("typescript").find(location(tmp_path, "src/deep"))
    assert argv(tmp_path, start) == started
    assert isinstance(start, LaunchCommand)
    assert start.tsserver == ("tsserver" in started)


def test_an_old_typescript_runs_by_files_that_this_run_may_not_have_changed(tmp_path: Path) -> None:
    library = {f"node_modules/typescript/lib/{name}.js": "" for name in ("tsserver", "typescript", "tsc")}
    project(tmp_path, {**package("5.4.5"), **library}, ("path/node",))
    start = spec("typescript").find(location(tmp_path))
    assert isinstance(start, LaunchCommand)
    assert {Path(one).relative_to(tmp_path).as_posix() for one in start.runs} == set(library)


def test_an_old_typescript_without_node_is_named(tmp_path: Path) -> None:
    project(tmp_path, package("5.9.3"), ("node_modules/.bin/tsc", "path/tsc"))
    said = spec("typescript").find(location(tmp_path))
    assert said == "there is no node on PATH, which the project's TypeScript needs"


def test_in_a_monorepo_the_nearest_is_taken(tmp_path: Path) -> None:
    here = {f"packages/a/{name}": text for name, text in package("7.1.0").items()}
    project(tmp_path, {**package("5.0.0"), **here}, ("packages/a/node_modules/.bin/tsc",))
    start = spec("typescript").find(location(tmp_path, "packages/a/src"))
    assert argv(tmp_path, start) == "packages/a/node_modules/.bin/tsc --lsp --stdio"


@pytest.mark.parametrize(
    ("name", "files", "program", "found"),
    [
        ("gopls", {}, "path/gopls", "there is no go.mod"),
        ("gopls", {"go.mod": ""}, "", "it is not installed"),
        ("clangd", {}, "path/clangd", "there is no compile_commands.json"),
        ("biome", {}, "node_modules/.bin/biome", ""),
        ("oxlint", {}, "node_modules/.bin/oxlint", ""),
        ("biome", {"biome.json": ""}, "", "it is not installed"),
    ],
)
def test_what_a_project_does_not_configure_is_not_started(
    tmp_path: Path, name: str, files: dict[str, str], program: str, found: str
) -> None:
    project(tmp_path, files, (program,) if program else ())
    assert spec(name).find(location(tmp_path)) == found


@pytest.mark.parametrize(
    ("name", "file", "program", "started"),
    [
        ("gopls", "go.mod", "path/gopls", "path/gopls"),
        ("biome", "biome.jsonc", "node_modules/.bin/biome", "node_modules/.bin/biome lsp-proxy"),
        ("oxlint", ".oxlintrc.json", "node_modules/.bin/oxlint", "node_modules/.bin/oxlint --lsp"),
    ],
)
def test_what_it_configures_is(tmp_path: Path, name: str, file: str, program: str, started: str) -> None:
    project(tmp_path, {file: ""}, (program,))
    assert argv(tmp_path, spec(name).find(location(tmp_path, "src"))) == started


def test_clangd_is_told_where_the_commands_are(tmp_path: Path) -> None:
    project(tmp_path, {"build/compile_commands.json": ""}, ("path/clangd",))
    started = argv(tmp_path, spec("clangd").find(location(tmp_path, "src")))
    assert started == "path/clangd --background-index=false --compile-commands-dir=build"


def test_nothing_above_the_tree_is_looked_at(tmp_path: Path) -> None:
    project(tmp_path, {"go.mod": "", "tree/a.go": ""}, ("path/gopls",))
    assert spec("gopls").find(Location(tmp_path / "tree", tmp_path, {"PATH": ""}, {})) == "there is no go.mod"


def test_a_policy_s_command_keeps_the_usual_options() -> None:
    usual = LaunchCommand(("ruff", "server"), ("ruff", "--version"), {"settings": 1})
    start = replace_command("'my tools/ruff' server -v", usual)
    assert start == LaunchCommand(
        ("my tools/ruff", "server", "-v"), ("my tools/ruff", "--version"), {"settings": 1}
    )
    assert replace_command("'", usual) == "its command in the policy is none: No closing quotation"
    assert isinstance(replace_command("x", "it is not installed"), LaunchCommand)


@pytest.mark.parametrize(
    ("name", "interesting"),
    [("a.py", True), ("A.TSX", True), ("x/y.YML", True), ("a.md", False), ("py", False)],
)
def test_other_files_are_of_no_interest(name: str, interesting: bool) -> None:
    assert is_checked(name) is interesting


@pytest.mark.parametrize(
    ("name", "text", "shell"),
    [
        ("bin/deploy", "#!/bin/sh\n", True),
        ("bin/deploy", "#! /usr/bin/env -S bash -e\n", True),
        ("deploy", "#!/usr/bin/env python3\n", False),
        ("deploy", "echo\n", False),
        ("deploy.txt", "#!/bin/sh\n", False),
        (".profile", "#!/bin/sh\n", False),
        ("a.sh", "", True),
        ("a.sh", "#!/bin/dash\n", True),
        ("a.sh", "#!/usr/bin/env zsh\n", False),
        ("a.sh", "#!/usr/bin/fish\n", False),
    ],
)
def test_a_script_is_known_by_its_first_line(name: str, text: str, shell: bool) -> None:
    assert is_shell(name, text) is shell


def test_of_several_projects_each_has_its_own_server(tmp_path: Path) -> None:
    """TypeScript apart, which looks for the nearest tsconfig.json by itself."""
    files = ("a/pyproject.toml", "a/.venv/pyvenv.cfg", ".venv/pyvenv.cfg", "b/go.mod", "c/go.work", "c/d/go.mod",
             "biome.json", "b/biome.json", "b/Cargo.lock", "b/Cargo.toml", "b/member/Cargo.toml")  # fmt: skip
    used = {"Makefile": "lint:\n\tty check\n"}
    project(tmp_path, {**dict.fromkeys(files, ""), **used}, ("path/gopls", "path/cargo", "path/biome"))
    roots = {
        ("ty", "a/src"): "a", ("ty", "b"): None, ("ruff", "a"): None, ("gopls", "b/x"): "b",
        ("gopls", "c/d"): "c", ("biome", "b/src"): "", ("cargo", "b/member/src"): "b",
    }  # fmt: skip
    for (name, folder), root in roots.items():
        start = spec(name).find(location(tmp_path, folder, ty="/ty", ruff="/ruff"))
        assert isinstance(start, LaunchCommand), start
        assert start.root == (None if root is None else tmp_path / root), name
    ty = {folder: spec("ty").find(location(tmp_path, folder, ty="/ty")) for folder in ("a/src", "b")}
    found = {folder: start.variables for folder, start in ty.items() if isinstance(start, LaunchCommand)}
    assert found == {
        "a/src": {"VIRTUAL_ENV": f"{tmp_path}/a/.venv"},
        "b": {"VIRTUAL_ENV": f"{tmp_path}/.venv"},
    }
    named = Location(tmp_path, tmp_path, {"VIRTUAL_ENV": "/named"}, {"ty": "/ty"})
    start = spec("ty").find(named)
    assert isinstance(start, LaunchCommand)
    assert start.variables == {"VIRTUAL_ENV": "/named"}
