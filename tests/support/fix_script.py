"""Model turns that fix the sample project, and others, for tests of whole runs."""

from typing import Any

from tests.support.model_script import Call, Say, Step, Turn

VIEW = Call("view", {"path": "tidytime/format.py"})
EDITS = (
    Call(
        "edit",
        {
            "path": "tidytime/format.py",
            "old": "    remaining = abs(seconds)\n",
            "new": "    remaining = round(abs(seconds))\n",
        },
    ),
    Call(
        "edit",
        {
            "path": "tidytime/format.py",
            "old": (
                "        if unit.seconds == 1:\n            count = round(remaining)\n        else:\n"
                "            count, remaining = divmod(remaining, unit.seconds)\n"
            ),
            "new": "        count, remaining = divmod(remaining, unit.seconds)\n",
        },
    ),
)
DESCRIBE = Call(
    "describe_change",
    {
        "title": "Round durations before splitting them",
        "summary": "Seconds were rounded after the larger units had been split off, so 60 could not carry.",
    },
)
DONE = Say("Mended.")


def fix_steps() -> list[Step]:
    """View, edit twice, describe, end."""
    return [VIEW, Turn(EDITS), DESCRIBE, DONE]


def shell(command: str, **more: Any) -> Call:
    return Call("bash", {"command": command, **more})
