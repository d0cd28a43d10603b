"""Commands in a whole run: where the built-in list of dangerous ones looks, and the end of those in the background."""

from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import shell
from tests.support.model_script import Call, Say, ScriptRequest, Step
from tests.support.repositories import commit_all

pytestmark = pytest.mark.bubblewrap

COMMIT = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"


def test_git_is_denied_in_the_tree_and_not_in_a_folder_outside_of_it(cli: Cli, repo: Path):
    """Also if another call went there."""
    (repo / ".github" / "agent.yml").write_text("version: 1\n")
    commit_all(repo)
    steps = [
        shell(f"cd {repo} && {COMMIT}"),
        shell("cd $TMPDIR && git init -q made"),
        shell(f"cd made && {COMMIT} && git log --format=%s"),
        shell("git reset -q --hard && git clean -fdx"),
        shell(f"cd {repo} && true"),
        shell(COMMIT),
    ]
    results: list[str] = []

    def script(asked: ScriptRequest) -> Step:
        results[:] = asked.results
        if asked.number < len(steps):
            return steps[asked.number]
        return Call("write", {"path": "new.txt", "content": "x\n"}) if asked.number == 6 else Say("Done.")

    ran = cli.on(repo, "fix", "--json", "x", model=script)
    assert ran.code == 0, ran.err
    assert [number for number in range(6) if "Permission denied" in results[number]] == [0, 5]
    whole = "Nothing of this command line was run."
    assert [whole in results[number] for number in (0, 5)] == [True, False]
    assert results[2].startswith("x\n")
