"""Install what a run needs into a venv without pip: from the lock, hashes checked, wheels only. Standard library only.

The runner's pip installs uv from its own lines of the lock. uv then installs the packages that pyproject.toml requires,
and those of its extras in --extras, held to the lock's versions and hashes. The program itself runs from the action's
own folder, so nothing is built. uv is not kept, and bytecode is made when a module is first used.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVELOPMENT = "dev"
CHECKED = ("--require-hashes", "--only-binary", ":all:")


def blocks(lock: str) -> dict[str, str]:
    """The lock's lines for each package, by its name."""
    found = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    return {re.match(r"[a-z0-9._-]+", block)[0]: block for block in found if block.strip()}


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def install_uv(block: str, folder: Path) -> Path:
    """The program uv in `folder`, with the hash that the lock has for it."""
    asked = folder / "uv.txt"
    asked.write_text(block)
    python = sys.executable
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        # A Python without pip, as Debian has it: one of the standard library's own, for this once.
        venv.create(folder / "pip", with_pip=True)
        python = folder / "pip" / "bin" / "python"
    os.environ["PIP_ROOT_USER_ACTION"] = "ignore"  # it warns of what --target does not do
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    run(*pip, "--no-cache-dir", *CHECKED, "--target", folder / "uv", "-r", asked)
    return folder / "uv" / "bin" / "uv"


def of_extras(named: str, offered: Mapping[str, Sequence[str]]) -> list[str]:
    """The requirements of the extras in `named`, which are separated by commas or spaces."""
    names = re.findall(r"[^,\s]+", named)
    there = sorted(set(offered) - {DEVELOPMENT})
    for name in names:
        if name not in there:
            sys.exit(f"slash-agent: there is no extra {name!r}; `extras` takes {', '.join(there)}")
    return [requirement for name in dict.fromkeys(names) for requirement in offered[name]]


def main(target: Path, extras: str) -> None:
    # Before 3.11.5 `re` matches possessive quantifiers wrongly, and hidden text would reach the model.
    if not (3, 11, 5) <= sys.version_info[:3] < (3, 15):
        sys.exit(f"slash-agent needs Python 3.11.5 to 3.14; this runner's python3 is {sys.version.split()[0]}")
    lock = ROOT / "requirements.lock"
    packages = blocks(lock.read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    more = of_extras(extras, project["optional-dependencies"])
    names = map(canonical, (*project["dependencies"], *more))
    # `name==version`, with its marker but without its hashes: the constraint file has those.
    roots = [packages[name].split("\\")[0].strip() for name in dict.fromkeys(names)]
    python = target / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="slash-agent-install-") as folder:
        uv = install_uv(packages["uv"], Path(folder))
        run(uv, "venv", "--quiet", "--clear", "--no-project", "--python", sys.executable, target)
        run(uv, "pip", "install", "--quiet", "--no-config", "--python", python, *CHECKED, "-c", lock, *roots)
    print_site = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(print_site, capture_output=True, text=True, check=True).stdout.strip()
    Path(site, "slash_agent.pth").write_text(f"{ROOT}\n")


def run(*command: object) -> None:
    if subprocess.run([str(word) for word in command], check=False).returncode:
        sys.exit("slash-agent: its packages could not be installed, as printed above. Is the package index reachable?")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, metavar="VENV")
    parser.add_argument("--extras", default="", metavar="NAME,...")
    given = parser.parse_args()
    main(given.target, given.extras)
