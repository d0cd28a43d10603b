"""What earlier steps of a job left lying about is found, and never repeated."""

import os
from pathlib import Path

import pytest

from bot.checkout.leftover_credentials import find_leftover_credentials
from tests.support.files import write_file
from tests.support.repositories import Repository

_CANARY = "QUJDREVGY2FuYXJ5"


def repository(folder: Path, settings: str) -> Path:
    git_dir = Repository(folder)
    git_dir.commit("One", **{"a.txt": "a\n"})
    with (git_dir.path / ".git" / "config").open("a") as config:
        config.write(settings)
    return git_dir.path


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (f'[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic {_CANARY}\n', "`actions/checkout` left"),
        (f'[HTTP "https://github.com/"]\n  extraHeader=Authorization: Bearer {_CANARY}\n', "`actions/checkout` left"),
        (
            '[includeIf "gitdir:/srv/app/.git"]\n\tpath = /tmp/git-credentials-1234.config\n',
            "in the runner's temporary folder",
        ),
        (f'[remote "up"]\n\turl = https://me:{_CANARY}@github.com/a/b\n', "a password in an address"),
        (f'[url "https://x:{_CANARY}@github.com/"]\n\tinsteadOf = https://github.com/\n', "a password in an address"),
        (f'[remote "up"]\n\turl = https://{_CANARY}ghs56cbc512@github.com/a/b\n', "a password in an address"),
        (
            '[core]\n\tsshCommand = "/usr/bin/ssh" -i "$RUNNER_TEMP/8f1c" -o StrictHostKeyChecking=yes\n',
            "the way to a private key",
        ),
        ("[credential]\n\thelper = store --file /tmp/x\n", "stored passwords"),
    ],
)  # fmt: skip
def test_a_credential_in_the_settings_is_told_of(tmp_path: Path, settings: str, sentence: str):
    root = repository(tmp_path / "app", settings)
    (findings,) = find_leftover_credentials(root, {})
    assert sentence in findings
    assert findings.startswith(str(root / ".git" / "config"))
    assert _CANARY not in findings


def test_a_file_of_credentials_in_the_runners_folder_is_told_of(tmp_path: Path):
    temporary = tmp_path / "temp"
    write_file(
        temporary / "git-credentials-5678.config",
        f'[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic {_CANARY}\n',
    )
    (findings,) = find_leftover_credentials(None, {"RUNNER_TEMP": str(temporary)})
    assert "git-credentials-5678.config holds a token" in findings
    assert _CANARY not in findings


@pytest.mark.parametrize(
    "path",
    [
        ".git/modules/one/config",
        ".git/modules/vendor/deep/lib/config",
        ".git/modules/one/modules/vendor/two/config",
        "app/.git/config",
        "app/.git/modules/vendor/lib/config",
    ],
)
def test_a_submodule_and_a_checkout_in_a_folder_are_looked_into(tmp_path: Path, path: str):
    config = tmp_path / path
    write_file(config, f'[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic {_CANARY}\n')
    (findings,) = find_leftover_credentials(tmp_path, {})
    assert findings.startswith(f"{config} holds a token")


def test_ordinary_settings_hold_nothing(tmp_path: Path):
    remote = '[remote "o"]\n\turl = https://git@github.com/a/b\n[core]\n\tsshCommand = ssh -4\n'
    plain = f"[http]\n\textraheader = X-Trace: on\n{remote}[credential]\n\thelper =\n"
    assert (
        find_leftover_credentials(
            repository(tmp_path / "app", plain), {"RUNNER_TEMP": str(tmp_path / "none")}
        )
        == ()
    )
    assert find_leftover_credentials(tmp_path / "nowhere", {}) == ()
    assert find_leftover_credentials(None, {}) == ()


def test_a_hostile_config_is_not_followed_and_not_waited_for(tmp_path: Path):
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    os.mkfifo(root / ".git" / "config")
    secret = tmp_path / "secret"
    secret.write_text(f"extraheader = AUTHORIZATION: basic {_CANARY}\n")
    (root / ".git" / "config.worktree").symlink_to(secret)
    assert find_leftover_credentials(root, {}) == ()


def test_a_folders_name_stays_on_its_line(tmp_path: Path):
    repo = tmp_path / "x\n::error::\x1b[31m" / ".git"
    write_file(repo / "config", f'[remote "up"]\n\turl = https://me:{_CANARY}@github.com/a/b\n')
    (findings,) = find_leftover_credentials(tmp_path, {})
    assert findings == f"{tmp_path}/x\\n::error::\\x1b[31m/.git/config holds a password in an address."
