"""Checks that need an environment which is not shown do not run."""

import pytest

from bot.evidence.no_evidence import left_out_note
from bot.workspace.sandbox.confinement import EnvironmentFolder


@pytest.mark.parametrize(
    ("path", "command", "is_needed"),
    [
        (".venv", "python3 -m pytest", True), (".venv", "make test", True), (".venv", "npm test", False),
        ("", "pytest", True), ("", "npm test", False), ("web/node_modules", "npm test", True),
        ("web/node_modules", "cargo test", False), ("vendor/bundle", "bundle exec rake test", True),
        ("vendor", "go test ./...", True), ("vendor", "pytest", False),
    ],
)  # fmt: skip
def test_a_check_that_needs_an_environment_that_is_not_shown_does_not_run(
    tmp_path: object, path: str, command: str, is_needed: bool
):
    folder = EnvironmentFolder(tmp_path / "x", path, unshown="others can write in /a")  # type: ignore[operator]
    note = left_out_note([folder], command)
    assert bool(note) is is_needed
    where = f"{path or folder.source} is not shown to commands"
    assert not note or note.startswith(f"{where}: others can write in /a.")
