"""Whole runs on machines that allow less: an account without rights, and a container, as root and not. The back end
that holds there is found, and the run comes to its end."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import machines, warm
from tests.support.attacks import KEY
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.stage import MODEL
from tests.support.worlds import SYSTEM_PYTHON, World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TIERS = {"bubblewrap": "T1", "landlock": "T2"}
LESSER = (
    World("bubblewrap", ("nobody",)),
    World("landlock", ("docker",)),
    World("landlock", ("docker", "nobody")),
)
FILES = {".github/agent.yml": "version: 1\nchecks: ['test -s new.txt']\n", "a.txt": "one\n"}
# A look for the key, the network, and a place where the account may write; then the change.
COMMAND = """cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c API_KEY
(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected
(echo x > {place}/outside) 2>/dev/null
echo new > new.txt"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="lesser-")).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)  # the run's own cleaning up goes on in a process of its own


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.bubblewrap] * (one.back_end == "bubblewrap"))
        for one in LESSER
    ],
)
def test_a_whole_run_comes_to_its_end(world: World, place: Path):
    if reason := world.missing():
        pytest.skip(reason)
    make_repository(place / "app", FILES)
    (place / "home").mkdir()
    python = _python(place) if "nobody" in world.less else sys.executable
    if world.account != os.getuid():
        subprocess.run(["chown", "-R", str(world.account), place], check=True)

    seen: list[str] = []

    def script(asked: ScriptRequest) -> Step:
        seen[:] = asked.results
        command = COMMAND.format(port=server.port, place=place)
        return DONE if asked.results else shell(command)

    with ModelServer(script) as server:
        ran = warm.run_cold(
            [
                *machines.restricted(*world.less, python=SYSTEM_PYTHON), python, "-P", "-m", "bot", "fix",
                "--repo", place / "app", "--model", MODEL, "--out", place / "bundle", "--json",
                "make new.txt",
            ],
            {"PATH": os.environ["PATH"], "HOME": str(place / "home"), **server.environment(KEY)},
            ROOT,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    done = json.loads(ran.stdout)
    assert done["outcome"]["sandbox_probe"]["tier"] == TIERS[world.back_end]
    assert [file["path"] for file in done["outcome"]["files"]] == ["new.txt"]
    assert [check["after"]["state"] for check in done["outcome"]["checks"]] == ["passed"]
    assert done["branch"].startswith("agent/")
    assert " ".join(seen).split() == ["0", "[exit", "code", "0]"]
    assert not (place / "outside").exists()


def _python(place: Path) -> Path:
    """An interpreter that every account can start, with our packages: ours may lie in somebody's home."""
    packages = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    if f"python{sys.version_info.major}.{sys.version_info.minor}" != os.path.basename(
        os.path.realpath(SYSTEM_PYTHON)
    ):
        pytest.skip(f"{SYSTEM_PYTHON} cannot use the packages of this Python")
    own = place / "python"
    (own / "bin").mkdir(parents=True)
    (own / "bin/python").symlink_to(SYSTEM_PYTHON)
    (own / "pyvenv.cfg").write_text(f"home = {os.path.dirname(SYSTEM_PYTHON)}\n")
    site = own / "lib" / packages.parent.name / "site-packages"
    write_file(site / "ours.pth", f"{packages}\n{ROOT}\n")
    return own / "bin/python"
