"""`slash-agent demo`: the whole path on a sample repository, against a GitHub on loopback, with a recorded model.

Everything but the model is real: git, the sandbox, the tools, the checks, the gate, the pull request.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bot.checkout.host_programs import host_path
from bot.contracts.errors import AgentError, NoSandboxError
from bot.contracts.progress import View
from bot.publish.bundle import Bundle
from bot.publish.result import PublishResult
from bot.session.event.event_context import EventOptions, Say
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from bot.session.event.run_event import run_event
from bot.session.run_folder import new_folder
from bot.workspace.probe import choose
from bot.workspace.sandbox.backends import Setting

RECORDING = Path(__file__).parent / "recordings" / "demo.jsonl"
_STOP_LIMIT = 10
_FOR_FORGE = ("HOME", "LANG", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")


class DemoError(AgentError):
    """The demo did not reach a pull request: a bug of ours, or a machine that cannot run it."""


class DemoResult(NamedTuple):
    """`sandbox_trouble` is the reason why the demo ran without a sandbox, empty if it had one."""

    bundle: Bundle
    published: PublishResult
    sandbox_trouble: str


@contextmanager
def run_demo(environment: Mapping[str, str], say: Say, view: View) -> Iterator[DemoResult]:
    """Run the demo; the forge is up until the `with` block is left. Raises an `AgentError`."""
    setting: Setting = "auto"
    error_text = ""
    try:
        choose("auto")
    except NoSandboxError as error:
        setting, error_text = (
            "off",
            str(error),
        )  # the demo alone may go without, since its model is a recording
    with _forge() as forge, tempfile.TemporaryDirectory(prefix="slash-agent-demo-") as scratch:
        say(f"     A GitHub on this machine has an issue, {forge['issue_url']}")
        say("     Its maintainer writes `/agent fix this`. A recorded model answers; all else is real.")
        bundle = new_folder(environment).bundle
        # The variables that Actions would set, without keys of the person and without variables of a real job.
        inherited = ("PATH", "HOME", "LANG", "LC_ALL")
        demo_environment = {
            **{name: environment[name] for name in inherited if name in environment},
            "RUNNER_TEMP": scratch,
            "GITHUB_SERVER_URL": str(forge["url"]),
            "GITHUB_API_URL": str(forge["api_url"]),
            "GITHUB_REPOSITORY": str(forge["repository"]),
        }
        options = EventOptions(
            name=forge["event_name"],
            payload=Path(forge["event"]),
            out=bundle,
            model=f"replay/{RECORDING}",
            sandbox=setting,
            view=view,
        )
        result = run_event(options, {**demo_environment, "GITHUB_TOKEN": forge["tokens"]["run"]}, say)
        if result.bundle is None:
            raise DemoError(f"The demo's run ended without a result: {result.reason}")
        publisher = {**demo_environment, "GITHUB_TOKEN": forge["tokens"]["publish"]}
        _, published = publish_bundle(PublishJob(publisher, say), bundle)
        yield DemoResult(result.bundle, published, error_text)


@contextmanager
def _forge() -> Iterator[Mapping[str, Any]]:
    """The forge as a process of its own: no package of ours imports it."""
    command = [sys.executable, "-P", "-m", "slash_forge", "--sample", "--port", "0"]
    inherited = {name: os.environ[name] for name in _FOR_FORGE if name in os.environ}
    forge_environment = {**inherited, "PATH": host_path()}
    with subprocess.Popen(
        command, env=forge_environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise DemoError("The demo's GitHub on loopback did not start; its output is above.")
            yield json.loads(line)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
