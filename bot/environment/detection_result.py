"""Results of detection: checks, the setup that they need where nothing is installed, and what was left out, and why."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bot.ecosystems.record import Use
from bot.ecosystems.services import Service
from bot.policy.check_settings import SetupStep

OF_FILES = "the files"
"""The source of a check that manifests suggest."""


class CIStep(NamedTuple):
    """A step of CI with known expressions filled in: `script` if it runs one, `name` for people, `folder` relative to
    the root, `raw` its keys for another job, with `reason` why none can take it. `varies`: it depends on a matrix."""

    name: str
    source: str
    script: str = ""
    folder: str = ""
    environment: Mapping[str, str] = {}
    raw: Mapping[str, Any] = {}
    reason: str = ""
    varies: bool = False
    versions: Mapping[str, str] = {}
    """Those in the files that its inputs name, by input."""


class DetectedCheck(NamedTuple):
    """`command` is CI's own; `source` names the file. A `fallback` is the usual command for a manifest, for when no
    test of CI can run here."""

    name: str
    command: str
    use: Use
    source: str
    fallback: bool = False


class Omission(NamedTuple):
    """A step of CI that is no check here, and why."""

    what: str
    reason: str
    source: str


class Detection(NamedTuple):
    setup: tuple[SetupStep, ...] = ()
    checks: tuple[DetectedCheck, ...] = ()
    omissions: tuple[Omission, ...] = ()
    unread: tuple[Omission, ...] = ()
    """Files that could not be parsed. The rest is as if they were not there."""
    prepare: tuple[CIStep, ...] = ()
    """CI's own set-up steps."""
    services: tuple[Service, ...] = ()
    """The servers that the checks need."""
    workflows: tuple[str, ...] = ()
    """Names of CI's workflows."""

    @property
    def lacks_tests_of_ci(self) -> bool:
        """CI has workflows, but no test among the checks is from a step of theirs."""
        tests = (check for check in self.checks if check.use is Use.TESTS)
        return bool(self.workflows) and all(check.source == OF_FILES for check in tests)


def source_of(file: str, detail: str = "") -> str:
    """Return a position for people and for YAML comments. Other characters become question marks."""
    return re.sub(r"[^\w -~]", "?", f"{file}, {detail}" if detail else file)[:120]
