"""Which folders become visible because something on PATH needs them, and which never do; which files in them no command
may read."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bot.workspace.sandbox import hidden_paths, toolchains
from bot.workspace.sandbox.confinement import Dependencies, EnvironmentFolder, Mounts
from bot.workspace.sandbox.hidden_paths import credentials_in
from bot.workspace.sandbox.landlock import Landlock
from tests.support.files import write_file
from tests.support.repositories import make_repository
from tests.support.sandbox_commands import bubblewrap_command, landlock_plan
from tests.support.workspaces import BACK_ENDS, EACH_BACK_END, Bench, bash


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


NPM = "lib/node_modules/npm/package.json"


@pytest.mark.parametrize(
    ("files", "entry", "shown"),
    [
        (".pyenv/versions/x", ".pyenv/shims", [".pyenv"]),
        ("project/.venv/pyvenv.cfg", "project/.venv/bin", ["project/.venv"]),
        ("tools/conda-meta/history", "tools/bin", ["tools"]),
        ("tools/lib/python3.12/os.py", "tools/bin", ["tools"]),
        (f"tools/{NPM}", "tools/bin", ["tools"]),
        (f"tools/{NPM}", "tools/sbin", ["tools/sbin"]),
        (f".local/{NPM}", ".local/bin", [".local/bin"]),
        (NPM, "bin", ["bin"]),
        ("project/x", "project/bin", ["project/bin"]),
        ("x", "", []),
    ],
)
def test_an_entry_of_path_shows_the_installation_that_it_belongs_to(
    home: Path, files: str, entry: str, shown: list[str]
):
    """Whole, where it is one, and nothing of a person's own beside it."""
    for folder in ((home / files).parent, home / entry):
        folder.mkdir(parents=True, exist_ok=True)
    (home / files).touch()
    found = toolchains.find({"PATH": f"{home / entry}:/usr/bin"})
    assert found.folders == tuple(home / one for one in shown)
    assert found.path.startswith(f"{home / entry}:/usr/bin:" if shown else "/usr/bin:")
    assert {"/bin", "/usr/local/bin"} <= set(found.path.split(":"))


@pytest.mark.parametrize("base", ["python/bin", ".ssh"])
def test_a_virtual_environment_brings_the_python_that_it_was_made_with_and_no_other_folder(
    home: Path, base: str
):
    made(home / "python/lib/python3.12").joinpath("os.py").touch()
    environment = made(home / "project/.venv")
    (environment / "pyvenv.cfg").write_text(f"home = {made(home / base)}\nversion = 3.12.1\n")
    found = toolchains.find({"VIRTUAL_ENV": str(environment)})
    assert found.folders == (environment, *([home / "python"] if base == "python/bin" else []))


def test_cargo_brings_rustup_and_the_variable_to_find_it(home: Path):
    made(home / ".rustup")
    found = toolchains.find({"PATH": str(made(home / ".cargo/bin"))})
    assert found.folders == (home / ".cargo", home / ".rustup")
    assert found.variables == {"RUSTUP_HOME": str(home / ".rustup")}


def test_the_pythons_of_uv_are_shown(home: Path):
    folder = made(home / ".local/share/uv/python")
    assert toolchains.find({"HOME": str(home)}).folders == (folder,)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (".local/share/pipx/venvs/tox/bin/tox", ".local/share/pipx/venvs/tox"),
        (".local/share/uv/tools/ruff/bin/ruff", ".local/share/uv/tools/ruff"),
        (".local/lib/node_modules/pnpm/bin/pnpm.cjs", ".local/lib/node_modules/pnpm"),
        (".local/lib/node_modules/@antfu/ni/bin/nr.mjs", ".local/lib/node_modules/@antfu/ni"),
        (".local/lib/node_modules/x/node_modules/y/bin/y.js", ".local/lib/node_modules/x"),
        (".nvm/versions/node/v22/bin/node", ".nvm"),
        ("programs/one", "programs/one"),
    ],
)
def test_a_link_on_path_shows_the_smallest_installation_behind_it(home: Path, target: str, shown: str):
    entry = made(home / ".local/bin")
    program = home / target
    made(program.parent)
    program.touch()
    if "venvs" in target or "tools" in target:
        (home / shown / "pyvenv.cfg").touch()
    (entry / "program").symlink_to(program)
    assert toolchains.find({"PATH": str(entry)}).folders == (entry, home / shown)


def test_a117_a_link_shows_neither_the_home_nor_its_secrets(home: Path):
    entry = made(home / ".local/bin")
    made(home / ".ssh")
    (entry / "home").symlink_to(home)
    (entry / "keys").symlink_to(home / ".ssh")
    (entry / "gone").symlink_to(home / "nowhere")
    assert toolchains.find({"PATH": str(entry)}).folders == (entry,)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a114_a_folder_that_others_can_write_in_is_not_shown_and_that_is_said(
    home: Path, mode: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(toolchains, "_has_others", lambda group: True)
    entry = made(home / "shared/tools/bin")
    (home / "shared").chmod(mode)
    found = toolchains.find({"PATH": str(entry)})
    assert found.folders == ()
    assert found.notes == (f"{entry} of PATH is not shown to commands: others can write in {home}/shared.",)
    assert toolchains.find({"PATH": str(entry), "RUNNER_TEMP": "/x"}).folders == (entry,)


def test_a114_nor_what_a_link_a_variable_or_a_cache_leads_to(home: Path):
    shared = made(home / "shared/one").parent
    (shared / "one/program").write_text("#!/bin/sh\n")
    made(home / "bin").joinpath("program").symlink_to(shared / "one/program")
    venv, gems = made(shared / "venv"), made(home / ".gem/ruby").parent
    for folder in (shared, gems):
        folder.chmod(0o777)
    source = {"HOME": str(home), "VIRTUAL_ENV": str(venv)}
    found = toolchains.find({"PATH": str(home / "bin"), **source})
    assert found.folders == (home / "bin",)
    assert found.caches == ()
    assert len(found.notes) == 3


def test_a114_nor_an_environment_that_only_the_checkout_leads_to(home: Path):
    shared = made(home / "shared/environments/app/bin").parent
    (shared / "pyvenv.cfg").touch()
    own = made(home / "tree/node_modules")
    (home / "shared").chmod(0o777)
    outside, inside = EnvironmentFolder(shared, "", "bin"), EnvironmentFolder(own, "node_modules", ".bin")
    found = toolchains.find({}, environments=(outside, inside))
    assert [one.unshown for one in found.environments] == [f"others can write in {home}/shared", ""]
    assert (found.environments[1], found.folders) == (inside, ())


@pytest.mark.parametrize("back_end", EACH_BACK_END)
def test_a114_no_way_leads_it_into_a_workspace(home: Path, back_end: str):
    shared = made(home / "shared/app/bin").parent
    (shared / "pyvenv.cfg").write_text("canary")
    (home / "shared").chmod(0o777)
    bench = Bench(home, make_repository(home / "tree", {"a": "a"}))
    try:
        folders = EnvironmentFolder(shared, "", "bin"), EnvironmentFolder(shared, ".venv")
        workspace = bench.start(BACK_ENDS[back_end](), dependencies=Dependencies(folders))
        assert (
            "canary" not in bash(workspace, f"cat {shared}/pyvenv.cfg .venv/pyvenv.cfg; echo $PATH").content
        )
    finally:
        bench.close()


def test_downloads_of_the_home_are_found_and_settings_beside_them_are_not(home: Path):
    made(home / ".m2/wrapper")
    made(home / ".gem/ruby")
    (home / ".m2/settings.xml").write_text("<password>x</password>")
    found = toolchains.find({"HOME": str(home)})
    assert found.caches == ((home / ".m2/wrapper", ".m2/wrapper"), (home / ".gem/ruby", ".gem/ruby"))


def test_packages_installed_for_the_user_are_found(home: Path):
    packages = made(home / ".local/lib/python3.12/site-packages")
    found = toolchains.find({"PATH": str(made(home / ".local/bin"))})
    assert found.folders == (home / ".local/bin", packages)
    assert found.variables == {"PYTHONUSERBASE": str(home / ".local")}


@pytest.mark.parametrize("entry", ["bin", ".", "", "/", "/tmp", "/var/tmp", "/proc/self", "/no/such/folder"])
def test_entries_that_are_relative_missing_or_private_are_dropped(entry: str):
    found = toolchains.find({"PATH": f"{entry}:/usr/bin"})
    assert found.folders == ()
    assert found.path.startswith("/usr/bin:")


def masked(command: list[str]) -> set[str]:
    return {target for source, target in pairwise(command) if source == "/dev/null"}


def test_credentials_in_a_toolchain_are_covered(home: Path):
    cargo = made(home / ".cargo")
    (cargo / "credentials.toml").write_text("token = 'x'")
    (cargo / "config.toml").write_text("[registries.mine]\ntoken = 'x'")
    command = bubblewrap_command(Mounts(home, "/work", toolchains=(cargo,)))
    assert {str(cargo / "credentials.toml"), str(cargo / "config.toml")} <= masked(command)


def test_a_folder_beneath_another_is_mounted_with_it(home: Path):
    inner = made(home / ".pyenv/versions")
    command = bubblewrap_command(Mounts(home, "/work", toolchains=(inner, home / ".pyenv")))
    assert str(home / ".pyenv") in command
    assert str(inner) not in command


def test_a_toolchain_that_was_removed_meanwhile_is_left_out(home: Path):
    assert str(home / ".nvm") not in bubblewrap_command(Mounts(home, "/work", toolchains=(home / ".nvm",)))


@pytest.mark.parametrize("name", ["RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY", "VIRTUAL_ENV"])
def test_a_folder_of_tools_that_a_variable_names_is_shown(home: Path, name: str):
    folder = made(home / "tools")
    assert toolchains.find({name: str(folder)}).folders == (folder,)


@pytest.mark.parametrize("value", ["", "tools", "/no/such/folder", "/", "/tmp"])
def test_a_variable_that_names_no_folder_of_tools_shows_nothing(value: str):
    assert toolchains.find({"VIRTUAL_ENV": value}).folders == ()


def test_the_agent_s_own_virtual_environment_is_not_shown(home: Path, monkeypatch: pytest.MonkeyPatch):
    own = made(home / "own/bin")
    monkeypatch.setattr(sys, "prefix", str(own.parent))
    assert toolchains.find({"VIRTUAL_ENV": str(own.parent), "PATH": str(own)}).folders == ()


def test_version_managers_in_the_home_are_shown_without_path(home: Path):
    for name in (".cargo", ".rustup", ".nvm", "go", "other"):
        made(home / name)
    found = toolchains.find({"HOME": str(home)})
    assert {folder.name for folder in found.folders} == {".cargo", ".rustup", ".nvm"}
    assert found.variables["NVM_DIR"] == str(home / ".nvm")


def test_a_version_manager_that_is_a_link_is_not_followed(home: Path):
    (home / ".nvm").symlink_to(made(home / "elsewhere"))
    assert toolchains.find({"HOME": str(home)}).folders == ()


def test_what_was_downloaded_before_is_found_and_what_is_new_is_written_elsewhere(home: Path):
    made(home / ".cargo/registry")
    downloads = made(home / "go/pkg/mod/cache/download")
    variables = toolchains.find({"HOME": str(home)}).variables
    assert variables["CARGO_HOME"] == str(home / ".cargo")
    assert variables["GOPROXY"].startswith(f"file://{downloads},")
    assert not {"GOMODCACHE", "GOPATH", "GOCACHE"} & variables.keys()


def test_of_gradle_s_cache_neither_locks_nor_marks_of_its_clean_up_are_shown(home: Path):
    modules = made(home / ".gradle/caches/modules-2/files-2.1").parent
    made(modules / "metadata-2.107")
    for name in ("modules-2.lock", "gc.properties"):
        (modules / name).touch()
    found = toolchains.find({"HOME": str(home)})
    assert found.folders == (modules / "files-2.1", modules / "metadata-2.107")
    assert found.variables == {"GRADLE_RO_DEP_CACHE": str(home / ".gradle/caches")}


def test_a_variable_names_no_cache_that_is_not_shown(home: Path):
    made(home / "go/pkg/mod/cache/download").chmod(0o777)
    made(home / ".cache/composer/files")
    found = toolchains.find({"HOME": str(home)})
    assert found.folders == ()
    assert found.caches == ((home / ".cache/composer/files", ".cache/composer/files"),)
    assert found.variables == {"COMPOSER_CACHE_READ_ONLY": "1"}


@pytest.mark.parametrize("variable", ["PATH", "VIRTUAL_ENV"])
@pytest.mark.parametrize("form", ["a Python that it names", "a link"])
def test_a88_an_environment_in_the_work_tree_leads_to_no_other(home: Path, variable: str, form: str):
    """Commands of an earlier call may have written it."""
    other, venv = home / "other/.venv", home / "tree/.venv"
    made(other / "bin")
    (other / "pyvenv.cfg").write_text("home = /usr/bin\n")
    if form == "a link":
        made(home / "tree")
        venv.symlink_to(other)
    else:
        made(venv / "bin")
        (venv / "pyvenv.cfg").write_text(f"home = {other}/bin\n")
    value = f"{venv}/bin" if variable == "PATH" else str(venv)
    path = value if variable == "PATH" else ""
    found = toolchains.find({"PATH": path, variable: value}, tree=home / "tree")
    assert found.folders == ()


@pytest.mark.parametrize(
    "name",
    [
        "versions/node/v20.1.0/etc/npmrc",
        "versions/3.11.9/pip.conf",
        "node/20.1.0/x64/etc/npmrc",
        "Python/3.12.1/arm64/pip.conf",
        "tools/image/node/20.1.0/etc/npmrc",
        "installs/python/3.12.1/pip.conf",
    ],
)
def test_the_settings_of_one_version_of_a_tool_are_credentials(tmp_path: Path, name: str):
    write_file(tmp_path / name, "//registry.example/:_authToken=x")
    assert tmp_path / name in list(credentials_in(tmp_path))


def test_channels_of_conda_are_credentials(tmp_path: Path):
    """Their addresses hold tokens."""
    (tmp_path / ".condarc").write_text("channels: [https://conda.example/t/x/main]")
    assert list(credentials_in(tmp_path)) == [tmp_path / ".condarc"]


@pytest.mark.parametrize("line", ['secret-key = "k3.secret.x"', 'proxy = "http://me:x@proxy.example:8080"'])
def test_settings_with_a_key_or_a_password_are_credentials(tmp_path: Path, line: str):
    (tmp_path / "config.toml").write_text(line)
    assert list(credentials_in(tmp_path)) == [tmp_path / "config.toml"]


def test_settings_without_a_secret_can_be_read(tmp_path: Path):
    (tmp_path / "config.toml").write_text('[registries.x]\nindex = "https://registry.example/a@b"\n')
    assert not list(credentials_in(tmp_path))


def test_credentials_in_the_tool_cache_of_a_hosted_runner_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It lies in /opt, which is shown with the system."""
    settings = tmp_path / "hostedtoolcache/node/20.1.0/x64/etc/npmrc"
    write_file(settings, "//registry.example/:_authToken=x")
    monkeypatch.setattr(hidden_paths, "_OPTIONAL", str(tmp_path))
    assert str(settings) in hidden_paths.hidden_system_paths()


def test_settings_of_npm_and_pip_for_all_users_are_hidden_if_they_hold_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_file(tmp_path / "etc/npmrc", "cafile=/etc/ssl/cert.pem")
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://me:x@pypi.example/simple")
    monkeypatch.setattr(hidden_paths, "_PREFIXES", (str(tmp_path),))
    assert [path for path in hidden_paths.hidden_system_paths() if path.startswith(str(tmp_path))] == [
        str(tmp_path / "pip.conf")
    ]


def interpreter(folder: Path) -> Mounts:
    """One that is shown because our own program runs by it."""
    (folder / "python/lib").mkdir(parents=True)
    (folder / "python/pip.conf").touch()
    (folder / "tree").mkdir()
    return Mounts(folder / "tree", "/work", program=((folder / "python", str(folder / "python")),))


def test_credentials_beside_our_own_interpreter_are_covered(tmp_path: Path):
    command = bubblewrap_command(interpreter(tmp_path))
    shown = command.index(str(tmp_path / "python"))
    assert ("/dev/null", str(tmp_path / "python/pip.conf")) in pairwise(command[shown:])


def test_credentials_beside_our_own_interpreter_are_not_granted(tmp_path: Path):
    mounts = interpreter(tmp_path)
    of_the_system = (Path("/usr/lib"), "/usr/lib")
    more = mounts._replace(program=(*mounts.program, of_the_system))
    run = landlock_plan(Landlock(7, hidden=("/usr/lib",)), more)["run"]
    assert "/usr/lib" not in run
    assert str(tmp_path / "python/lib") in run
    assert not {str(tmp_path / "python"), str(tmp_path / "python/pip.conf")} & set(run)
