"""Start the servers that checks and the agent's commands need, inside the sandbox."""

from collections.abc import Sequence

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.policy.check_settings import ServiceSpec
from bot.workspace.client import Workspace

_UNTIL = 'until (\n{ready}\n) > "$TMPDIR/ready" 2>&1; do\n  sleep 0.2\ndone'
_WHY = 'tail -n 3 "$TMPDIR/ready"'
_SHORT = 10
_SERVICE_TAIL = 600


class ServiceError(UsageError):
    """A server of `run_services:` did not answer in time."""


def start_services(workspace: Workspace, services: Sequence[ServiceSpec], cancel: CancelToken) -> None:
    """Start each service, as a command of the sandbox in the background, and wait until it answers. All of them end
    with the workspace. Raises `ServiceError` with the last lines of its output."""
    for service in services:
        started = workspace.call("bash", {"command": service.command, "background": True}, cancel)
        wait = {"command": _UNTIL.format(ready=service.ready), "timeout": max(round(service.timeout), 1)}
        outcome = workspace.call("bash", wait, cancel)
        if outcome.metadata.get("exit_code") != 0:
            why = workspace.call("bash", {"command": _WHY, "timeout": _SHORT}, cancel).content
            raise ServiceError(
                f"the service {service.name} did not answer within {service.timeout:.0f} s: "
                f"{why.strip()[-_SERVICE_TAIL:]}\n{started.content.strip()[-_SERVICE_TAIL:]}"
            )
