"""The command `slash-agent`."""

import gc
import sys

from bot.cli.scrub_environment import exit_on_ctrl_c, open_closed_streams, restart_without_secrets


def main() -> None:
    open_closed_streams()
    exit_on_ctrl_c()
    restart_without_secrets(sys.argv[1:])
    # Importing makes a million objects that stay: looking for garbage after each 700 of them takes 60 ms.
    gc.set_threshold(50_000)

    from bot.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
