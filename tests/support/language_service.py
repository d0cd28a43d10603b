"""GitHub's own checker of workflows and actions, from npm. Its published modules run in Node.js only when bundled."""

import json
import subprocess
from pathlib import Path

from tests.support.npm import installed

SERVICE = ("@actions/languageservice", "0.3.61")
BUNDLER = ("esbuild", "0.28.2")
SCRIPT = Path(__file__).parents[1] / "action" / "language_service.mjs"


def findings(files: list[Path], folder: Path) -> dict[str, list[str]]:
    """What it has to say about each file, by name. `folder` is for the bundle."""
    modules = installed(*SERVICE).parents[1]
    bundle = folder / "language_service.cjs"
    subprocess.run(
        [
            installed(*BUNDLER) / "bin" / "esbuild", SCRIPT,
            "--bundle", "--platform=node", "--format=cjs", "--log-level=error", f"--outfile={bundle}",
        ],
        env={"NODE_PATH": str(modules), "PATH": "/usr/local/bin:/usr/bin:/bin"}, check=True,
    )  # fmt: skip
    completed = subprocess.run(["node", bundle, *files], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in completed.stdout.splitlines()]
    return {Path(line["path"]).name: line["found"] for line in lines}
