"""Why a check is no evidence: an environment that it needs cannot be shown, and another Python or Node in its place
would run other code. Pure."""

from collections.abc import Iterable

from bot.contracts.plain_text import printable
from bot.ecosystems.registry import ecosystems
from bot.evidence.check import NOT_SHOWN
from bot.evidence.summary import languages_of
from bot.workspace.sandbox.confinement import EnvironmentFolder


def left_out_sentence(environment: EnvironmentFolder) -> str:
    """Return what is not shown, why, what that means and what to do, for people and the model."""
    return printable(
        f"{environment.path or environment.source} {NOT_SHOWN}: {environment.unshown}. Nothing takes its "
        "place, so checks that need it are not run. Install it anew in a folder that only you can write in."
    )


def left_out_note(environments: Iterable[EnvironmentFolder], command: str) -> str:
    """Return why a check does not run; empty if it needs none of `environments`. A script may need any of them."""
    languages = languages_of(command)
    for one in environments:
        name = one.path.rpartition("/")[2]
        # One outside of the checkout has another name.
        tools = (tool for tool in ecosystems() if name in tool.folders or (not name and tool.environments))
        needed_by = {tool.name for tool in tools}
        if not languages or languages & needed_by:
            return left_out_sentence(one)
    return ""
