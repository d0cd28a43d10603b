"""Whether a refusal means that the conversation is longer than the model can read.

Every vendor says it in words of its own, and most without a code. A rate limit in tokens (429) sounds alike and
is none: what is too much a minute is not too much for the model.
"""

from __future__ import annotations

import re

_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, DeepSeek
        "context_window_exceeded",
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",
        "request_too_large",  # Anthropic: 32 MB
        "tokens_limit_reached",  # GitHub Models
        "string_above_max_length",  # OpenAI: one message too long
    }
)
_SAID = re.compile(
    "|".join(
        (
            r"prompt (is |was )?too long",  # Anthropic, Ollama
            r"input length and `?max_tokens`? exceed",  # Anthropic
            r"input is too long for (the )?requested model",  # Bedrock
            r"exceeds? the (model's )?(maximum )?context (window|length|size)",  # OpenAI Responses, LiteLLM
            r"maximum context length",  # OpenAI Chat, OpenRouter, vLLM, DeepSeek, Mistral
            r"longer than the maximum model length",  # vLLM
            r"input token count.{0,40}exceeds the maximum",  # Gemini
            r"maximum prompt length is",  # xAI
            r"reduce the length of (the|your) (messages|prompt|input)",  # Groq, OpenAI
            r"request body too large for .{1,80} model",  # GitHub Models
            r"prompt token count .{0,20}exceeds the limit",  # GitHub Copilot's doors
            r"exceeds the available context size",  # llama.cpp
            r"greater than the context length",  # LM Studio
            r"exceed(ed|s)? (the )?(max )?context (length|window)",  # Ollama, MiniMax
            r"context window exceeds limit",  # MiniMax
            r"exceeded model token limit",  # Kimi
            r"inputs?\W* tokens? \+ .{0,20}max_new_tokens. must be",  # Hugging Face, Together
            r"too large for model with \d+ maximum context",  # Mistral
            r"too many (input )?tokens for (this|the) model",
        )
    ),
    re.IGNORECASE,
)
# Never the conversation's length, whatever the words say.
_OTHER = frozenset({401, 402, 403, 404, 429})


def is_overflow(status: int | None, kind: str, said: str) -> bool:
    """`status` is HTTP's, `kind` the vendor's code or type, `said` its message; each may be missing."""
    if status in _OTHER or (status is not None and status < 400):
        return False
    return status == 413 or kind in _CODES or _SAID.search(said[:4000]) is not None
