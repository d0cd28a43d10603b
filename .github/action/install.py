"""Install what a run needs into a venv: from the lock, hashes checked, wheels only. Standard library only.

Usage: install.py VENV

uv comes first, by pip, from its own lines of the lock; it then installs the packages that pyproject.toml asks
for, held to the lock's versions and hashes, without those that only development needs. The program itself runs
from the action's own folder, so nothing is built.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(lock: str) -> dict[str, str]:
    """The lock's lines for each package, by its name."""
    found = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    return {re.match(r"[a-z0-9._-]+", block)[0]: block for block in found if block.strip()}


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(block: str) -> str:
    """`name==version`, with its marker but without its hashes: the constraint file has those."""
    return block.split("\\")[0].strip()


def main(target: Path) -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        sys.exit(f"slash-agent needs Python 3.11 to 3.14; this runner's python3 is {sys.version.split()[0]}")
    lock = ROOT / "requirements.lock"
    packages = blocks(lock.read_text())
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    venv.create(target, with_pip=True, clear=True)
    python = target / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "uv.txt"
        first.write_text(packages["uv"])
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes",
            "--only-binary", ":all:", "-r", first)
        roots = [pinned(packages[canonical(requirement)]) for requirement in asked]
        run(target / "bin" / "uv", "pip", "install", "--quiet", "--python", python, "--require-hashes",
            "--only-binary", ":all:", "--compile-bytecode", "-c", lock, *roots)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()
    Path(site, "slash_agent.pth").write_text(f"{ROOT}\n")


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
