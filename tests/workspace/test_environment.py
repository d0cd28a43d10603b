"""The environment of commands: what is let in, and that nothing else is."""

import os
import sys
from pathlib import Path

import pytest

from bot.workspace import environment, start
from bot.workspace.client import Workspace
from bot.workspace.sandbox import toolchains
from bot.workspace.sandbox.backends import bubblewrap, landlock
from tests.support.files import write_file
from tests.support.workspaces import Bench, bash

HOME, TMP = Path("/run-folder/tmp/home"), Path("/run-folder/tmp")

SECRETS = {
    "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x", "GITHUB_TOKEN": "x", "GH_TOKEN": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "ACTIONS_RUNTIME_TOKEN": "x", "ACTIONS_ID_TOKEN_REQUEST_URL": "x", "GITHUB_ENV": "x", "GITHUB_PATH": "x",
    "RUNNER_TEMP": "x", "LD_PRELOAD": "x", "PYTHONPATH": "x", "PYTHONSTARTUP": "x", "NODE_OPTIONS": "x",
    "BASH_ENV": "x", "ENV": "x", "GIT_DIR": "x", "GIT_SSH_COMMAND": "x", "NPM_AUTH": "x", "DB_PASSWORD": "x",
    "SSH_PRIVATE": "x",
}  # fmt: skip


def built(source: dict[str, str]) -> dict[str, str]:
    return environment.build(source, HOME, TMP, toolchains.find(source))


def test_nothing_is_inherited_that_was_not_named():
    found = built({**SECRETS, "SOMETHING": "x", "PATH": "/usr/bin"})
    assert not {"SOMETHING", *SECRETS} & found.keys()


def test_no_variable_of_the_shell_leads_to_code_of_the_checkout():
    names = "NODE_PATH CLASSPATH RUBYLIB RUBYOPT PERL5LIB GOFLAGS GOWORK JAVA_TOOL_OPTIONS CARGO_TARGET_DIR PYTHONPATH"
    found = built({**dict.fromkeys(names.split(), "/app"), "PATH": "/usr/bin"})
    assert "/app" not in found.values()


def test_home_and_temporary_folder_are_the_workspace_s_own():
    found = built({"HOME": "/home/me", "TMPDIR": "/tmp/me"})
    assert (found["HOME"], found["TMPDIR"]) == (str(HOME), str(TMP))


def test_programs_that_the_job_prepare_installed_come_last_where_they_are_shown():
    path = built({"PATH": "/usr/bin"})["PATH"].split(":")
    shown = [f"{HOME}/.cargo/bin", str(Path.home() / ".local/bin"), "/opt/pipx_bin"]
    assert min(path.index(one) for one in shown) > path.index("/usr/bin")


def test_no_pager_prompt_or_editor_can_hang_a_command():
    found = built({})
    assert found["GIT_PAGER"] == found["PAGER"] == "cat"
    assert found["GIT_EDITOR"] == "true"
    assert found["GIT_TERMINAL_PROMPT"] == "0"


def test_tests_of_coloured_output_pass_as_in_ci():
    """As those of sharkdp/hexyl, whose program obeys NO_COLOR."""
    found = built({"NO_COLOR": "1"})
    assert "NO_COLOR" not in found
    assert found["TERM"] == "dumb"


def test_commands_see_exactly_that(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary")
    workspace = bench.start(environment={"PATH": "/usr/bin:/bin", "FLAVOUR": "mild"})
    names = {line.split("=")[0] for line in bash(workspace, "env").content.splitlines() if "=" in line}
    shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names - shell == {*built({"PATH": "/usr/bin:/bin"}), "PYTHONPYCACHEPREFIX"}


def test_checks_are_told_that_this_is_ci_and_the_model_is_not(workspace: Workspace, bench: Bench):
    assert bash(workspace, 'echo "CI is $CI"').content.startswith("CI is \n")
    assert bash(bench.start(checks=True), 'echo "CI is $CI"').content.startswith("CI is 1\n")


def test_python_leaves_no_bytecode_in_the_tree(workspace: Workspace):
    bash(workspace, "cd src && cp b.py imported_here.py && python3 -c 'import imported_here'")
    assert bash(workspace, "find . -name '*.pyc'").content.startswith("(no output)")
    assert "imported_here" in bash(workspace, 'find "$TMPDIR" -name "*.pyc"').content


def test_programs_of_the_environment_that_setup_made_come_first(bench: Bench):
    program = bench.tree / ".venv/bin/greet"
    write_file(program, "#!/bin/sh\necho hello from $VIRTUAL_ENV\n", 0o755)
    assert bash(bench.start(), "greet").content.startswith("hello from /")


def test_a_link_is_no_environment_that_setup_made(tmp_path: Path):
    (tmp_path / "elsewhere/bin").mkdir(parents=True)
    (tmp_path / ".venv").symlink_to(tmp_path / "elsewhere")
    assert environment.of_tree(tmp_path, "/tree", "/usr/bin") == {}


# Programs of ours


HERE = Path(os.path.realpath(os.path.join(sys.prefix, "bin")))


@pytest.mark.parametrize("wall", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), "landlock"])
def test_ruff_and_ty_run_inside_and_what_lies_beside_them_is_not_there(bench: Bench, wall: str):
    confinement = bubblewrap() if wall == "bubblewrap" else landlock()
    workspace = bench.start(confinement)
    programs = start.find_own_programs(moved=confinement.moves, writable=())
    places = {name: inside for name, (_, inside) in programs.items()}
    command = f"{places['ruff']} --version && {places['ty']} --version"
    said = bash(
        workspace, f"{command}; cat {HERE}/activate; ls {HERE.parent}; touch {places['ruff']}"
    ).content
    assert "ruff 0" in said
    assert "ty 0" in said
    assert "deactivate" not in said
    assert "pyvenv.cfg" not in said
    # The last where another process runs it just then.
    assert any(why in said for why in ("Permission denied", "Read-only file system", "Text file busy"))


def test_what_commands_could_change_is_not_run_as_ours():
    assert start.find_own_programs(moved=False, writable=(Path(os.path.realpath(sys.prefix)),)) == {}


def test_a_script_of_that_name_is_no_program_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bin").mkdir()
    for name in start.CHECKERS:
        write_file(tmp_path / "bin" / name, "#!/bin/sh\n", 0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert start.find_own_programs(moved=True, writable=()) == {}
