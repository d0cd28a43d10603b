"""Whole runs whose `setup:` obeys an attacker: it plants links, sockets and programs where the supervisor looks later.
On both back ends."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.conftest import Cli, cli
from tests.support.environment_runs import both, fixed, states
from tests.support.fix_script import shell
from tests.support.repositories import git, make_repository

__all__ = ["cli"]

CANARY = "setup-canary-52ac"
# git runs the hook where the program might run git after setup. `tar` does nothing, so that an archive that is none
# would do no harm.
PLANT = """\
mkdir -p .venv/bin ~/where && echo "home = OUT/other/bin" > .venv/pyvenv.cfg && echo "$TMPDIR" > ~/where/tmp
for name in tar cp git du xargs touch; do
  printf '#!/bin/sh\\necho %s >> ~/planted\\n' $name > .venv/bin/$name; chmod +x .venv/bin/$name
done
printf '#!/bin/sh\\nrm .venv/bin/cp; while [ ! -e %s ]; do :; done; ln -sfn OUT %s\\n' "$TMPDIR/prepared.tar" \
  "$TMPDIR/prepared.tar" > ~/hook; chmod +x ~/hook
git config --global core.fsmonitor ~/hook
ln -sfn OUT "$TMPDIR/prepared"; ln -sfn OUT node_modules; ln -sfn OUT target; ln -sfn OUT left
"""
HOME = 'cd /; rm -rf "$HOME"; ln -s OUT "$HOME"\n'
LOOK = """\
places="$(awk '{print $5}' /proc/self/mountinfo | grep slash-agent/runs) ~ .venv target left OUT"
places="$places $(cat ~/where/tmp 2>/dev/null)"
found=$(grep -rs CANARY $places $(printf '%s/prepared.tar ' $places))
[ -z "$found" ] || { echo "$found"; exit 3; }
[ ! -e ~/planted ] || { cat ~/planted; exit 4; }
python3 -c '
import os, socket, sys
for place in sys.argv[1:]:
    for path in (place + "/s", place + "/prepared.tar/s", place + "/home/s"):
        try:
            os.chdir(os.path.dirname(path))
            socket.socket(socket.AF_UNIX).connect("s")
        except OSError:
            continue
        sys.exit(5)
' $places
"""
FILES = {
    ".gitignore": ".venv\nnode_modules\ntarget\n",
    "Cargo.toml": "",
    "package.json": "{}",
    ".github/agent.yml": "version: 1\ndiagnostics: {checkers: []}\nsetup: ['sh setup.sh']\nchecks: ['sh look.sh']\n",
}


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "o"
    (folder / "other" / "bin").mkdir(parents=True)
    (folder / "secret").write_text(CANARY)
    (folder / "other" / "secret").write_text(CANARY)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder)
        listener.bind("s")
        os.chdir(here)
        listener.listen(8)
        yield folder


def repository(tmp_path: Path, outside: Path, setup: str) -> Path:
    files = {**FILES, "setup.sh": setup, "look.sh": LOOK}
    return make_repository(
        tmp_path / "app",
        {name: text.replace("OUT", str(outside)).replace("CANARY", CANARY) for name, text in files.items()},
    )


LOOKED = shell("sh look.sh && echo nothing > looked.txt")


@pytest.mark.slow
@both
@pytest.mark.parametrize("setup", [PLANT, PLANT + HOME], ids=["planted", "HOME is a link"])
def test_a85_a86_a88_what_setup_plants_shows_nothing_of_the_machine(
    cli: Cli, tmp_path: Path, outside: Path, sandbox: str, setup: str
):
    outcome = fixed(cli, repository(tmp_path, outside, setup), sandbox, LOOKED)
    assert states(outcome) == ["passed", "passed"], outcome["checks"]
    assert [file["path"] for file in outcome["files"]] == ["looked.txt"]


@both
@pytest.mark.slow
def test_a87_nor_what_the_model_made_setup_plant_in_a_run_before(
    cli: Cli, tmp_path: Path, outside: Path, sandbox: str
):
    repo = repository(tmp_path, outside, "true\n")
    attack = PLANT.replace("OUT", str(outside))
    first = fixed(cli, repo, sandbox, shell(f"cat > setup.sh <<'END'\n{attack}END"))
    assert [file["path"] for file in first["files"]] == ["setup.sh"]
    [branch] = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/agent").splitlines()
    git(repo, "checkout", "-q", branch)
    outcome = fixed(cli, repo, sandbox, LOOKED)
    assert states(outcome) == ["passed", "passed"], outcome["checks"]
    assert [file["path"] for file in outcome["files"]] == ["looked.txt"]
