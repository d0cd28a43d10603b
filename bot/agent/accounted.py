"""What a response is counted as where the model's API said nothing of it, or not all: an estimate, never nothing.

Some servers report no tokens, and of an answer that was cut off the vendors report what was read and hardly what was
written. Uncounted, neither the limits on tokens and money nor the summaries would ever be due.
"""

from __future__ import annotations

import json
from dataclasses import replace

from bot.agent.window import tokens_of, tokens_of_text
from bot.contracts.events import Complete, Failed, Retrying
from bot.contracts.messages import Message, Usage
from bot.contracts.model import ModelRequest


def accounted(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """`response` with the usage that counts."""
    if isinstance(response, Failed):
        return replace(response, usage=usage_of_cut(response, request))
    return response if response.usage.total else replace(response, usage=_of(request, response.message))


def usage_of_cut(event: Failed | Retrying, request: ModelRequest) -> Usage:
    """The usage of an answer that is not whole. One of which nothing came is taken to have cost nothing."""
    if event.partial is None:
        return event.usage
    if not event.usage.total:
        return _of(request, event.partial)
    return replace(event.usage, output=max(event.usage.output, tokens_of(event.partial)))


def _of(request: ModelRequest, answer: Message) -> Usage:
    tools = sum(
        tokens_of_text(json.dumps([one.name, one.description, one.parameters])) for one in request.tools
    )
    read = tokens_of_text(request.system) + tools + sum(map(tokens_of, request.messages))
    return Usage(input=read, output=tokens_of(answer))
