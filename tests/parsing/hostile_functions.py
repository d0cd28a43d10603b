"""Functions that a child of a `Parser` runs for tests. Imports are part of the start of a child: it has few."""

import os
import resource
import signal
import sys


def limits_and_surroundings(text: str) -> object:
    names = (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)
    return [
        dict(os.environ),
        os.getcwd(),
        sys.flags.isolated,
        [resource.getrlimit(name)[0] for name in names],
    ]


def ends_itself(text: str) -> object:
    os.kill(os.getpid(), signal.Signals[text])
    return text


def answers_with(text: str) -> object:
    """Write an answer of its own, as a text that has taken control of the child can."""
    os.write(1, text.encode())
    return None
