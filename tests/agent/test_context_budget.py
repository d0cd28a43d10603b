"""What fits a model's window: estimated from above in the small, never the whole window in the large."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.receive import max_response, tokens_of, tokens_of_text, usable_tokens
from bot.contracts.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo


def model(window: int, longest: int) -> ModelInfo:
    return ModelInfo("m", window, longest, 0, 0, 0, 0)


@given(st.integers(1_000, 2_000_000), st.integers(1, 2_000_000))
def test_what_is_held_and_the_longest_answer_fit_the_window_together(window: int, longest: int) -> None:
    info = model(window, longest)
    answer = min(max_response(info) or longest, longest)
    assert window // 4 <= usable_tokens(info) < window
    assert usable_tokens(info) + answer <= window


@pytest.mark.parametrize(
    ("window", "longest", "cap"), [(1_000_000, 128_000, 0), (200_000, 64_000, 33_333), (8_192, 8_192, 1_365)]
)
def test_a_long_answer_is_capped_where_it_would_take_much_of_the_window(
    window: int, longest: int, cap: int
) -> None:
    assert max_response(model(window, longest)) == cap


def test_text_beyond_ascii_counts_by_its_bytes() -> None:
    assert tokens_of_text("a" * 400) == 100
    assert tokens_of_text("漢" * 400) == 300
    assert tokens_of_text("") == 0


def test_every_part_counts() -> None:
    parts = (
        Text("a" * 400), Thinking("a" * 400, "sig"), ToolCall("i", "echo", "a" * 400),
        ToolResult("i", "echo", "a" * 400), Image("image/png", b"x"),
    )  # fmt: skip
    assert tokens_of(Message("user", parts)) == 8 + 4 * 100 + 1 + 1_200
