"""The title of a pull request, which is its commit's subject too, and how it follows the repository's convention."""

import json

from bot.contracts.outcome import Outcome
from bot.gate.clean_text import clean_line
from bot.gate.secrets import withhold_if_secret
from bot.parsing.parser import ParseError, Parser
from bot.publish.convention import form
from bot.publish.convention.read import Conventions


def title(outcome: Outcome) -> str:
    """Return the title, also the commit's subject: the model's, the thread's, the task's name, or the instruction."""
    thread = outcome.request.thread
    for candidate in (
        outcome.description.title,
        f"{thread.title} (#{thread.number})" if thread else "",
        f"Maintenance: {outcome.request.task.replace('-', ' ')}" if outcome.request.task else "",
        outcome.request.full_instruction,
    ):
        near = candidate[:2000]
        if not withhold_if_secret(near) and (line := clean_line(near, form.LONGEST)):
            return line
    return "Change by the agent"


def with_title(outcome: Outcome, conventions: Conventions, parser: Parser) -> tuple[Outcome, str]:
    """Return `outcome` with a title that the conventions accept, and a sentence if none could be made."""
    if not conventions.all:
        return outcome, ""
    wanted = title(outcome)
    request = [[one._asdict() for one in conventions.all], wanted, [file.path for file in outcome.files]]
    try:
        new, why = str(parser.parse(form.mend_text, json.dumps(request))), ""
    except ParseError as error:
        new, why = "", f": {error}"
    if not new:
        named = " and ".join(one.source or "the newest commits" for one in conventions.all)
        return outcome, f"The title may not follow the convention of {named}{why}. Edit it before merging."
    return outcome._replace(description=outcome.description._replace(title=new)), ""
