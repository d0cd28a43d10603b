"""The forge as a process: prints one line of JSON with its addresses, then serves until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from slash_forge.bundled import Sample, set_up
from slash_forge.forge import Forge


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m slash_forge", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0, the default, takes a free one")
    parser.add_argument("--sample", action="store_true", help="begin with the bundled sample repository")
    options = parser.parse_args(arguments)
    # A pipe, not an Event: a handler that sets an Event deadlocks when it interrupts the wait's own locking.
    woken, wake = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        os.write(wake, b"!")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    try:
        forge = Forge(port=options.port)
    except OSError as error:
        sys.stderr.write(f"forge: port {options.port} cannot be used: {error}\n")
        return 2
    with forge, tempfile.TemporaryDirectory(prefix="forge-event-") as folder:
        output: dict[str, Any] = {"url": forge.url, "api_url": forge.api_url}
        if options.sample:
            output.update(_sample_output(forge, set_up(forge), Path(folder)))
        sys.stdout.write(json.dumps(output) + "\n")
        sys.stdout.flush()
        os.read(woken, 1)
    return 0


def _sample_output(forge: Forge, sample: Sample, folder: Path) -> dict[str, Any]:
    event = folder / "event.json"
    event.write_text(json.dumps(sample.event, indent=2))
    return {
        "repository": sample.repository,
        "clone_url": forge.clone_url(sample.repository),
        "issue": sample.issue,
        "issue_url": sample.event["issue"]["html_url"],
        "comment": sample.comment,
        "event_name": "issue_comment",
        "event": str(event),
        "tokens": {
            "run": sample.run_token,
            "publish": sample.publish_token,
            "maintainer": sample.maintainer_token,
        },
    }


if __name__ == "__main__":
    sys.exit(main())
