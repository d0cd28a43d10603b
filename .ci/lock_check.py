"""Resolve the lock for every Python and both architectures, wheels only, without installing: `make lock-check`."""

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28")


def main() -> int:
    uv, failed = Path(sys.executable).parent / "uv", 0
    for python, platform in product(PYTHONS, PLATFORMS):
        with tempfile.TemporaryDirectory() as target:
            command = [
                uv, "pip", "install", "--quiet", "--dry-run", "--no-deps", "--require-hashes", "--only-binary", ":all:",
                "--target", target, "--python-version", python, "--python-platform", platform,
                "-r", "requirements.lock",
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        print(f"{python}  {platform:24}  {'ok' if done.returncode == 0 else done.stderr.strip()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
