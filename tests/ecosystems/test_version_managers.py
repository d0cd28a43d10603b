"""Versions that a repository selects and its version manager does not have."""

import re
from pathlib import Path

import pytest

from bot.ecosystems.version_managers import missing_versions


def home_with(monkeypatch: pytest.MonkeyPatch, home: Path, folder: str) -> Path:
    monkeypatch.setenv("HOME", str(home))
    (home / folder).mkdir(parents=True)
    return home


@pytest.mark.parametrize(
    ("file", "text", "there", "sentence"),
    [
        (".python-version", "3.9.1\n", ".pyenv/versions/3.12.1", "pyenv has no .* `3.9.1`, .*pyenv install 3.9.1"),
        (".python-version", "3.12\n3.9.1\n", ".pyenv/versions/3.12.1", "names `?3.9.1"),
        (".python-version", "3.1\n", ".pyenv/versions/3.12.1", "names `?3.1`?,"),
        (".ruby-version", "3.3.0\n", ".rbenv/versions/3.2.0", "rbenv has no version"),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "1.75"\n', ".rustup/toolchains/1.80-x86_64", "rustup has no"),
        ("rust-toolchain", "nightly\n", ".rustup/toolchains/stable-x86_64", "rustup toolchain install nightly"),
        (".tool-versions", "nodejs 20.1.0\nruby 3.2.0\n", ".asdf/installs/ruby/3.2.0", "asdf .* nodejs 20.1.0"),
        ("package.json", '{"volta": {"node": "20.1.0"}}', ".volta/tools/image/node/18.2.0", "volta install node@20"),
    ],
)  # fmt: skip
def test_a_version_that_a_manager_does_not_have_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, text: str, there: str, sentence: str
):
    home = home_with(monkeypatch, tmp_path, there)
    shims = ":".join(
        f"{home}/{name}"
        for name in (".pyenv/shims", ".rbenv/shims", ".asdf/shims", ".cargo/bin", ".volta/bin")
    )
    [note] = missing_versions({"HOME": str(home)}, shims, lambda files: {file: text})
    assert re.search(sentence, note), note
    assert not list(missing_versions({"HOME": str(home)}, "/usr/bin", lambda files: {file: text}))


@pytest.mark.parametrize(
    ("file", "text", "there"),
    [
        (".python-version", "3.12\n", ".pyenv/versions/3.12.1"),
        (".python-version", "# ours\nsystem\n", ".pyenv/versions/3.12.1"),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "stable"\n', ".rustup/toolchains/stable-x86_64"),
    ],
)
def test_nothing_is_said_of_a_version_that_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, text: str, there: str
):
    home = home_with(monkeypatch, tmp_path, there)
    path = f"{home}/.pyenv/shims:{home}/.cargo/bin"
    assert not list(missing_versions({"HOME": str(home)}, path, lambda files: {file: text}))
    gone = {"HOME": str(home), "PYENV_VERSION": "3.12.1"}
    assert not list(missing_versions(gone, path, lambda files: {".python-version": "2.7"}))
