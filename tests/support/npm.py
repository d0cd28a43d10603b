"""Files from npm packages at pinned versions, fetched once into `.cache/npm/` for all parallel workers."""

import fcntl
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.programs import run_program

CACHE = Path(__file__).parents[2] / ".cache" / "npm"


def package_file(package: str, version: str, member: str, sha256: str) -> Path:
    """One file of a package. Its content must be the one that was read when the version was pinned."""
    slug = f"{package.strip('@').replace('/', '-')}-{version}"
    target = CACHE / slug / member
    with _lock(slug):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                archive = _packed(package, version, Path(scratch))
                unpacked = Path(scratch) / "file"
                with tarfile.open(archive) as tar, unpacked.open("wb") as out:
                    source = tar.extractfile(f"package/{member}")
                    assert source is not None, f"{package}@{version} has no file {member}"
                    shutil.copyfileobj(source, out)
                digest = hashlib.sha256(unpacked.read_bytes()).hexdigest()
                assert digest == sha256, f"{package}@{version}: {member} has SHA-256 {digest}"
                target.parent.mkdir(parents=True, exist_ok=True)
                unpacked.rename(target)
    return target


def installed(package: str, version: str) -> Path:
    """The folder of a package that was installed with its dependencies; its own scripts were not run."""
    slug = f"{package.strip('@').replace('/', '-')}-{version}-installed"
    folder = CACHE / slug
    with _lock(slug):
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder)]
            _npm("install", *options, f"{package}@{version}", cwd=folder)
            (folder / ".complete").touch()
    return folder / "node_modules" / package


def _packed(package: str, version: str, folder: Path) -> Path:
    _npm(
        "pack",
        "--silent",
        "--ignore-scripts",
        "--pack-destination",
        str(folder),
        f"{package}@{version}",
        cwd=folder,
    )
    return next(folder.glob("*.tgz"))


_failed: list[str] = []
"""What npm printed when it failed first: a newcomer without a network does not wait for each package."""


def _npm(*args: str, cwd: Path) -> None:
    """Run npm. If that fails, tests are skipped, unless everything is required."""
    if not _failed:
        completed = run_program(["npm", *args, "--fetch-retries=1"], cwd=cwd, timeout=300)
        if completed.returncode == 0:
            return
        _failed.append(f"npm {args[0]} failed: {completed.stderr.strip()[-500:]}")
    if not os.environ.get("SLASH_AGENT_TEST_EVERYTHING"):
        pytest.skip(_failed[0])
    pytest.fail(_failed[0])


@contextmanager
def _lock(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
