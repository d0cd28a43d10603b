"""A supervisor as a separate process, for other accounts and containers: reads tool calls as lines of JSON.

`python supervisor.py BACK_END TREE FOLDER`; it needs the standard library and the packages up to `bot.workspace`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bot.contracts.cancel import CancelToken
from bot.workspace.client import Answer, Workspace
from bot.workspace.sandbox.backends import bubblewrap, landlock
from bot.workspace.start import StartOptions


def main() -> None:
    back_end, tree, folder = sys.argv[1:]
    find = {"bubblewrap": bubblewrap, "landlock": landlock}[back_end]
    with Workspace.start(
        find(), StartOptions(Path(tree), Path(folder), os.environ), lambda _: Answer(True)
    ) as workspace:
        say({"pid": workspace.facts.pid, "leaks": workspace.facts.leaks})
        for line in sys.stdin:
            call = json.loads(line)
            outcome = workspace.call(call["tool"], call["arguments"], CancelToken())
            metadata = dict(outcome.metadata)
            say({"content": outcome.content, "is_error": outcome.is_error, "metadata": metadata})


def say(message: Any) -> None:
    print(json.dumps(message, default=str), flush=True)


if __name__ == "__main__":
    main()
