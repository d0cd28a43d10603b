"""Which files in a folder of tools no command may read."""

from itertools import pairwise
from pathlib import Path

import pytest

from bot.workspace.sandbox import hidden_paths
from bot.workspace.sandbox.confinement import Mounts
from bot.workspace.sandbox.hidden_paths import credentials_in
from bot.workspace.sandbox.landlock import Landlock
from tests.support.files import write_file
from tests.support.sandbox_commands import bubblewrap_command, landlock_plan


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
