"""The command `slash-agent`."""

from __future__ import annotations

import sys


def main() -> None:
    from bot.cli.scrub_environment import begin_again, end_at_ctrl_c, hold_standard_streams

    hold_standard_streams()
    end_at_ctrl_c()
    begin_again(sys.argv[1:])

    from bot.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
