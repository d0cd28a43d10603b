"""Which files in a folder of tools no command may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.sandbox.credentials import credentials_in


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
def test_the_settings_of_one_version_of_a_tool_are_credentials(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("//registry.example/:_authToken=x")
    assert tmp_path / name in list(credentials_in(tmp_path))


def test_channels_of_conda_are_credentials(tmp_path: Path) -> None:
    """Their addresses hold tokens. Breaks: bot/sandbox/credentials.py '".condarc"'."""
    (tmp_path / ".condarc").write_text("channels: [https://conda.example/t/x/main]")
    assert list(credentials_in(tmp_path)) == [tmp_path / ".condarc"]


@pytest.mark.parametrize("line", ['secret-key = "k3.secret.x"', 'proxy = "http://me:x@proxy.example:8080"'])
def test_settings_with_a_key_or_a_password_are_credentials(tmp_path: Path, line: str) -> None:
    (tmp_path / "config.toml").write_text(line)
    assert list(credentials_in(tmp_path)) == [tmp_path / "config.toml"]


def test_settings_without_a_secret_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[registries.x]\nindex = "https://registry.example/a@b"\n')
    assert not list(credentials_in(tmp_path))
