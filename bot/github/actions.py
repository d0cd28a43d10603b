"""Workflow commands of GitHub Actions: outputs, masks, annotations, the step summary.

The runner reads commands out of whatever a step prints, so text that is not ours is printed only between
`stop-commands` marks. Outputs go through the runner's file, each with a delimiter of its own that nobody
could have guessed.
"""

import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.plain_text import printable

# The runner drops a step summary over 1 MiB whole.
SUMMARY_LIMIT = (1 << 20) - 4096

_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


class Actions:
    """One step of a job. `environment` is the step's; `out` is what the runner reads.

    Outside Actions, outputs and summary go nowhere and commands are not printed; plain text still is.
    """

    def __init__(
        self, environment: Mapping[str, str], out: TextIO, token: Callable[[], str] = secrets.token_hex
    ) -> None:
        self._out = out
        self._token = token
        self.active = environment.get("GITHUB_ACTIONS") == "true"
        self._outputs = environment.get("GITHUB_OUTPUT", "") if self.active else ""
        self._summary = environment.get("GITHUB_STEP_SUMMARY", "") if self.active else ""
        self.withhold: Callable[[str], str | None] = lambda text: None
        """Why a text must not be shown here, as one sentence, or `None`; what must not is replaced whole."""

    def set_output(self, name: str, value: str) -> None:
        """Raises `UsageError` when the value contains its own delimiter, which no honest value does."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"not an output's name: {name!r}")
        delimiter = f"end-{self._token()}"
        if delimiter in value:
            raise UsageError(f"The output {name} contains the delimiter that ends it; it was not written.")
        if self._outputs:
            self._append(self._outputs, f"{name}<<{delimiter}\n{value}\n{delimiter}\n")

    def add_mask(self, secret: str) -> None:
        """Ask the runner to hide `secret` in its log. Line by line, since that is how it looks."""
        for line in secret.splitlines():
            if line.strip():
                self._command("add-mask", line)

    def warn(self, message: str) -> None:
        """A line that Actions shows on the run's page; outside Actions, on the terminal."""
        if self.active:
            self._command("warning", printable(message))
        else:
            self.print(f"warning: {message}")

    def print(self, text: str) -> None:
        """Print untrusted text without control sequences; no line of it is a workflow command."""
        line = self._fit(printable(text))
        if not self.active or ("::" not in line and "##[" not in line):
            self._write(line)
            return
        token = self._token()
        self._write(f"::stop-commands::{token}")
        # Second defence: break up the old `##[` form and a `::` at a line's start.
        line = line.replace("##[", "##\u200b[")
        self._write(re.sub(r"^(\s*):(?=:)", "\\1:\u200b", line, flags=re.MULTILINE))
        self._write(f"::{token}::")

    @property
    def has_summary(self) -> bool:
        """Whether the job has a summary."""
        return bool(self._summary)

    def add_summary(self, markdown: str) -> None:
        """Append to the job's summary; text over the limit is cut, with a note."""
        if not self._summary:
            return
        content = f"{self._fit(markdown).rstrip()}\n".encode()
        capacity = SUMMARY_LIMIT - (os.path.getsize(self._summary) if os.path.exists(self._summary) else 0)
        if len(content) > capacity:
            note = b"\n\n(cut: the summary is full; the whole is in the run's artifact)\n"
            content = content[: max(capacity - len(note), 0)].decode(errors="ignore").encode() + note
        self._append(self._summary, content.decode())

    def _fit(self, text: str) -> str:
        reason = self.withhold(text)
        return f"({reason})" if reason else text

    def _command(self, name: str, data: str) -> None:
        if self.active:
            # As the runner unescapes it.
            data = data.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
            self._write(f"::{name}::{data}")

    def _write(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()

    def _append(self, path: str, text: str) -> None:
        try:
            with Path(path).open("a", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise AgentError(f"The runner's file {path} could not be written: {error.strerror}.") from error


def json_text(value: object, indent: int | None = None) -> str:
    """`value` as JSON in which no line is a workflow command."""
    return json.dumps(value, indent=indent).replace("##[", "##\\u005b")
