"""Makes the picture of a terminal that the README shows: a real `slash-agent fix` of the sample with a recorded model.

python -m tests.support.terminal_image
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import subprocess
import tempfile
import termios
import textwrap
import threading
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bot.session.demo.demo import RECORDING
from tests.support.repositories import git, sample_repository
from tests.support.stage import command

FILE = Path(__file__).parents[2] / "docs" / "images" / "terminal.svg"
COLUMNS = 80
INSTRUCTION = "format_duration(59.7) should be 1m, not 60s"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        text = run(Path(folder))
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in Text.from_ansi(text).split("\n"):
        for row in line.divide(range(COLUMNS, len(line), COLUMNS)):  # as a terminal wraps, not at words
            console.print(row, no_wrap=True)
    image = console.export_svg(title="slash-agent fix", unique_id="terminal")
    # Without the fonts that it would fetch.
    FILE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", image, flags=re.DOTALL).replace("Fira Code, ", ""))
    print(FILE)


def run(folder: Path) -> str:
    """What was said while it went on, and then on its terminal."""
    repo = sample_repository(folder / "tidytime")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Second")
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "xterm-256color",
    }  # fmt: skip
    argv = command("fix", "--model", f"replay/{RECORDING}", INSTRUCTION)
    screen = bytearray()

    def read() -> None:
        while chunk := _read_chunk(master):
            screen.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    process = subprocess.run(
        argv,
        cwd=repo,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        check=True,
    )
    os.close(slave)
    reader.join()
    log = "\n".join(
        textwrap.fill(line, COLUMNS - 1, subsequent_indent="     ")
        for line in process.stderr.decode().splitlines()
    )
    return f'$ slash-agent fix "{INSTRUCTION}"\n{log}\n{screen.decode()}'.replace("\r", "").replace(
        str(folder), "~"
    )


def _read_chunk(master: int) -> bytes:
    try:
        return os.read(master, 1 << 16)
    except OSError:
        return b""


if __name__ == "__main__":
    main()
