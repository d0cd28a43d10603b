"""slash-agent on a machine whose resolver gives the package registries addresses that are not public.

The egress proxy refuses such addresses unless a workflow names a mirror, and one mirror stands for all hosts of a
preset. Here the presets keep their own hosts, which may have private addresses. Only the benchmark starts it, as a
file, so that nothing has to be set in the environment that `fix` reads.
"""

from __future__ import annotations

import sys

from bot.cli.main import run
from bot.policy import registry_mirrors
from bot.policy.registry_mirrors import Target
from bot.workspace.egress import access

_own = registry_mirrors.targets


def _private(*arguments: object, **named: object) -> frozenset[Target]:
    return frozenset(Target(one.host, one.port, private=True) for one in _own(*arguments, **named))  # type: ignore[arg-type]


if __name__ == "__main__":
    registry_mirrors.targets = access.targets = _private  # type: ignore[assignment,attr-defined]
    raise SystemExit(run(sys.argv[1:]))
