"""What a server says of the window of a model that nobody listed."""

import json
from typing import Any

import pytest

from bot.providers.connect import connect
from bot.providers.probe import with_served_window
from tests.support.loopback import Listener, Response


def serving(answers: dict[str, Any]) -> Listener:
    """A server that answers these paths with JSON and every other one with 404."""
    return Listener(
        lambda request: Response(
            200 if request.path in answers else 404, json.dumps(answers.get(request.path)).encode()
        )
    )


def window(provider: str, answers: dict[str, Any], variable: str) -> int:
    with serving(answers) as server:
        made = with_served_window(connect(f"{provider}/mine", {variable: f"{server.url}/v1"}))
        made.close()
    return made.info.context_window


@pytest.mark.parametrize("name", ["max_model_len", "context_length", "context_window", "max_context_length"])
def test_the_list_of_models_says_it(name: str):
    rows = [{"id": "other", name: 4_096}, {"id": "mine", name: 40_960}]
    assert window("vllm", {"/v1/models": {"data": rows}}, "VLLM_BASE_URL") == 40_960


def test_ollama_says_what_the_loaded_model_was_given():
    answers = {"/api/ps": {"models": [{"name": "mine", "context_length": 8_192}]}}
    assert window("ollama", answers, "OLLAMA_BASE_URL") == 8_192


def test_ollama_says_the_model_files_length():
    shown = {"parameters": 'stop "x"\nnum_ctx 32768', "model_info": {"llama.context_length": 131_072}}
    answers = {"/api/ps": {"models": []}, "/api/show": shown}
    assert window("ollama", answers, "OLLAMA_BASE_URL") == 32_768


def test_llamacpp_says_what_a_slot_has_and_not_what_the_model_was_trained_for():
    answers = {
        "/props": {"default_generation_settings": {"n_ctx": 16_384}, "total_slots": 4},
        "/v1/models": {"data": [{"id": "mine", "meta": {"n_ctx_train": 131_072}}]},
    }
    assert window("llamacpp", answers, "LLAMACPP_BASE_URL") == 16_384
    assert (
        window("llamacpp", {"/props": {"default_generation_settings": None}}, "LLAMACPP_BASE_URL") == 128_000
    )


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/v1/models": {"data": [{"id": "mine"}]}},
        {"/v1/models": {"data": [{"id": "mine", "max_model_len": "all"}, 7]}},
        {"/v1/models": {"data": [{"id": "mine", "max_model_len": -1}]}},
        {"/v1/models": ["mine"]},
    ],
)
def test_a_server_that_does_not_say_leaves_it_at_128_000(answers: dict[str, Any]):
    assert window("vllm", answers, "VLLM_BASE_URL") == 128_000


def test_a_small_window_bounds_the_answer():
    rows = [{"id": "mine", "max_model_len": 16_384}]
    with serving({"/v1/models": {"data": rows}}) as server:
        made = with_served_window(connect("vllm/mine", {"VLLM_BASE_URL": f"{server.url}/v1"}))
    assert made.info.max_output == 4_096
