"""Arguments: strict, mended only where the meaning is beyond doubt, never completed."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.arguments import BadArgumentsError, parse_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 40},
        "text": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["files", "lines"]},
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "nested": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
    "required": ["path"],
}


def values(raw: str) -> dict[str, Any]:
    return dict(parse_arguments(raw, SCHEMA).values)


def refusal(raw: str) -> str:
    with pytest.raises(BadArgumentsError) as caught:
        parse_arguments(raw, SCHEMA)
    return str(caught.value)


@given(
    st.fixed_dictionaries(
        {"path": st.text(min_size=1, max_size=40)},
        optional={
            "text": st.text(),
            "count": st.integers(1, 9),
            "ratio": st.floats(allow_nan=False, allow_infinity=False),
            "all": st.booleans(),
            "mode": st.sampled_from(["files", "lines"]),
            "names": st.lists(st.text(), min_size=1, max_size=3),
            "nested": st.fixed_dictionaries({"n": st.integers()}),
        },
    )
)
def test_whole_arguments_that_fit_come_through_untouched(arguments: dict[str, Any]):
    parsed = parse_arguments(json.dumps(arguments), SCHEMA)
    assert parsed.values == arguments
    assert parsed.repairs == ()


@pytest.mark.parametrize(
    ("raw", "expected", "repair"),
    [
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}, "JSON inside a JSON string"),
        ('{"path": "a", "text": "one\ntwo\tthree"}', {"path": "a", "text": "one\ntwo\tthree"}, "line breaks"),
        ('{"path": "a", "count": "7"}', {"path": "a", "count": 7}, "count as a whole number"),
        ('{"path": "a", "ratio": "0.5"}', {"path": "a", "ratio": 0.5}, "ratio as a number"),
        ('{"path": "a", "all": "True"}', {"path": "a", "all": True}, "all as a boolean"),
        ('{"path": "a", "names": "[\\"x\\"]"}', {"path": "a", "names": ["x"]}, "names as an array"),
        ('{"path": "a", "nested": "{\\"n\\": 1}"}', {"path": "a", "nested": {"n": 1}}, "nested as an object"),
        ('{"path": "a", "pth": 1}', {"path": "a"}, "ignored the unknown argument pth"),
        ('{"path": "a", "nested": {"n": 1, "m": 2}}', {"path": "a", "nested": {"n": 1}}, "nested.m"),
    ],
)
def test_damage_that_models_do_is_mended_and_named(raw: str, expected: dict[str, Any], repair: str):
    parsed = parse_arguments(raw, SCHEMA)
    assert parsed.values == expected
    assert any(repair in said for said in parsed.repairs)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"path": "a", "text": null}', {"path": "a"}),
        ('{"path": "a", "count": 3.0}', {"path": "a", "count": 3}),
        ('{"path": "a", "path": "b"}', {"path": "b"}),
        ('{"path": "a\\ud800", "names": ["b\\udc00"]}', {"path": "a\ufffd", "names": ["b\ufffd"]}),
    ],
)
def test_harmless_variants_are_taken_in_silence(raw: str, expected: dict[str, Any]):
    parsed = parse_arguments(raw, SCHEMA)
    assert (parsed.values, parsed.repairs) == (expected, ())


@given(st.integers(1, 200))
def test_arguments_that_were_cut_off_are_never_completed(end: int):
    whole = json.dumps({"path": "a", "text": 'say "hi", then\n}]', "names": ["x", "y"], "nested": {"n": 1}})
    cut = whole[: end % len(whole)]
    with pytest.raises(BadArgumentsError):
        parse_arguments(cut or "[", SCHEMA)


def test_an_argument_by_a_wrong_name_is_named_beside_the_one_that_is_missing():
    said = refusal('{"pth": "a"}')
    assert (
        "- path: expected a string, got nothing (it is required)\n- ignored the unknown argument pth (known: "
        in said
    )


def test_broken_json_is_explained_with_parser_message_position_and_excerpt():
    said = refusal('{"path": "a" "text": "' + "x" * 1000 + '"}')
    assert "Expecting ',' delimiter" in said
    assert "line 1, column 14 (character 13 of 1024)" in said
    assert '{"path": "a" "text": ' in said
    assert len(said) < 500


@pytest.mark.parametrize("raw", ["[1]", "7", "null", '"just text"', '"[1]"', '"\\"{}\\""'])
def test_arguments_that_are_no_object_are_refused(raw: str):
    assert "JSON" in refusal(raw)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("{}", "path: expected a string, got nothing (it is required)"),
        ("", "path: expected a string, got nothing (it is required)"),
        ('{"path": null}', "path: expected a string, got null"),
        ('{"path": 5}', "path: expected a string, got 5"),
        ('{"path": ""}', "path: expected at least 1 character, got 0"),
        ('{"path": "a", "count": 10}', "count: expected at most 9, got 10"),
        ('{"path": "a", "count": 1.5}', "count: expected a whole number, got 1.5"),
        ('{"path": "a", "count": true}', "count: expected a whole number, got true"),
        ('{"path": "a", "count": "many"}', 'count: expected a whole number, got "many"'),
        ('{"path": "a", "all": 1}', "all: expected a boolean, got 1"),
        ('{"path": "a", "mode": "bytes"}', 'mode: expected one of "files", "lines", got "bytes"'),
        ('{"path": "a", "names": []}', "names: expected at least 1 item, got 0"),
        ('{"path": "a", "names": ["x", 2]}', "names[1]: expected a string, got 2"),
        ('{"path": "a", "nested": {}}', "nested.n: expected a whole number, got nothing (it is required)"),
    ],
)
def test_a_mismatch_names_path_expected_and_got(raw: str, problem: str):
    assert f"- {problem}" in refusal(raw).splitlines()


def test_all_mismatches_are_said_at_once():
    assert len(refusal('{"count": 0, "all": "maybe"}').splitlines()) == 4


def test_what_a_model_nests_without_end_is_refused():
    assert "nested too deeply" in refusal('{"path": ' + "[" * 200_000)


@pytest.mark.parametrize("killer", ['"' + '\\"' * 300_000, "," * 600_000, '{"a": "' + "\n," * 300_000])
def test_hostile_text_takes_linear_time(killer: str):
    begun = time.process_time()
    refusal(killer)
    assert time.process_time() - begun < 20


@given(st.text(max_size=60))
def test_any_text_gives_arguments_or_a_refusal(raw: str):
    try:
        parse_arguments(raw, SCHEMA)
    except BadArgumentsError as error:
        assert str(error)
