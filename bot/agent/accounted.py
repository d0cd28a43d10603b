"""What a response is counted as where the model's API said nothing of it, or not all: an estimate, never nothing.

Some servers report no tokens, and of an answer that was cut off the vendors report what was read and hardly what was
written. Uncounted, neither the limits on tokens and money nor the summaries would ever be due.
"""

from __future__ import annotations

import json
from dataclasses import replace

from bot.agent.window import tokens_of, tokens_of_text
from bot.contracts.events import Complete, Failed
from bot.contracts.messages import Message, Usage
from bot.contracts.model import ModelRequest


def accounted(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """`response` with the usage that counts. A failure of which nothing came is taken to have cost nothing."""
    if isinstance(response, Complete):
        return response if response.usage.total else replace(response, usage=_of(request, response.message))
    if response.partial is None:
        return response
    if not response.usage.total:
        return replace(response, usage=_of(request, response.partial))
    written = max(response.usage.output, tokens_of(response.partial))
    return replace(response, usage=replace(response.usage, output=written))


def _of(request: ModelRequest, answer: Message) -> Usage:
    tools = sum(
        tokens_of_text(json.dumps([one.name, one.description, one.parameters])) for one in request.tools
    )
    read = tokens_of_text(request.system) + tools + sum(map(tokens_of, request.messages))
    return Usage(input=read, output=tokens_of(answer))
