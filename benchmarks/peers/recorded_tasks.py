"""Five tasks that two agents were once given with the same model, and two new ones, with the steps as scripts.

Each script has as many answers as mini-swe-agent needed then; looks and edits are those that the fix needs. A look is
at most as long as mini-swe-agent shows whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers.tasks import Answer, Change, Grep, Run, Task, View


def _pieces(path: str, lines: int, step: int = 180) -> Iterator[View]:
    """The first lines of a file in pieces."""
    for first in range(1, lines + 1, step):
        yield View(path, first, min(first + step - 1, lines))


_WHOLE = Answer("The change as a whole.", (Run("git status --short && git diff"),))
_VITEST = "node_modules/.bin/vitest run tests/doc/stringify.ts"

YAML = Task(
    name="yaml",
    repository="eemeli/yaml",
    fix="79af840c9de2db51ce70976646b71e6865177252",
    request=(
        "Add a ToString option `trailingComma` (boolean, default false): a comma after the last entry of a flow "
        "collection that is split across multiple lines. Document it."
    ),
    paths=("docs", "src", "tests", "package.json", "package-lock.json", "tsconfig.json", "vitest.config.js"),
    packages=(),
    prepare="npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
    installed="node_modules",
    test=_VITEST,
    answers=(
        Answer("I look for an option like it.", (Run("ls"), Grep("flowCollectionPadding", "."))),
        Answer(
            "Where collections are written, and the options.",
            (
                View("src/stringify/stringifyCollection.ts", 1, 170), View("src/stringify/stringify.ts", 1, 90),
                View("src/options.ts", 240, 390), View("docs/03_options.md", 140, 175),
                View("tests/doc/stringify.ts", 440, 560),
            ),
        ),
        Answer(
            "The option, its default, its effect, its line in the docs and its tests.",
            (
                Change("src/options.ts"), Change("src/stringify/stringify.ts"),
                Change("src/stringify/stringifyCollection.ts"), Change("docs/03_options.md"),
                Change("tests/doc/stringify.ts"),
            ),
        ),
        Answer("The tests.", (Run(_VITEST),)),
        _WHOLE,
    ),
    title="Add a trailingComma option for flow collections",
    summary="trailingComma adds a comma after the last entry of a flow collection over several lines. With tests.",
)  # fmt: skip

KONG = Task(
    name="kong",
    repository="alecthomas/kong",
    fix="b73962b8de52cf07d397b5a74856ba9340d0eaca",
    request=(
        'With a `kong:"..."` tag on a field its bare tags are ignored: `required:"" xor:"source" kong:"predictor=x"` '
        "is not required. Both kinds should count."
    ),
    paths=(".",),
    packages=(),
    prepare="go mod vendor",
    installed="vendor",
    test="go test .",
    answers=(
        Answer(
            "I look at how tags are read.",
            (Grep("getTagInfo|parseTagItems", "."), View("tag.go", 60, 260), View("tag_test.go", 60, 130)),
        ),
        Answer("Both kinds are merged, with a test.", (Change("tag.go"), Change("tag_test.go"), Run("go test ."))),
        _WHOLE,
    ),
    title="Let bare tags and the kong tag of a field both count",
    summary="Items of both kinds are merged; those of the kong tag come first. With a test.",
)  # fmt: skip

_NAMED_TUPLE = ".venv/bin/python -m pytest -q tests/brain/test_named_tuple.py"

ASTROID = Task(
    name="astroid",
    repository="pylint-dev/astroid",
    fix="87716135b7f90b5e299624c21116760bf6d09b68",
    request=(
        'An instance of namedtuple("Tuple", "abc def", rename=True) is inferred with an attribute `def` instead of '
        "`_1`, and duplicate names collapse into one."
    ),
    paths=(".",),
    packages=("pytest", "typing-extensions"),
    test=_NAMED_TUPLE,
    answers=(
        Answer(
            "I look at how named tuples are inferred.",
            (
                Grep("rename", "astroid/brain/brain_namedtuple_enum.py"),
                View("astroid/brain/brain_namedtuple_enum.py", 60, 290),
                View("tests/brain/test_named_tuple.py", 85, 145), View("ChangeLog", 1, 40),
            ),
        ),
        Answer(
            "The instance gets the renamed fields.",
            (
                Change("astroid/brain/brain_namedtuple_enum.py"), Change("tests/brain/test_named_tuple.py"),
                Change("ChangeLog"), Run(_NAMED_TUPLE),
            ),
        ),
        _WHOLE,
    ),
    title="Give a renamed namedtuple's instance the renamed fields",
    summary="The instance's attributes are rebuilt from the renamed fields. With two tests and a line in ChangeLog.",
)  # fmt: skip

_OVERRIDE_TESTS = "tests/test_annotated_overrides.py tests/test_typeddicts.py"
_OVERRIDES = f"env PYTHONPATH=src .venv/bin/python -m pytest -q {_OVERRIDE_TESTS}"
_GEN, _TYPED = "src/cattrs/gen/__init__.py", "src/cattrs/gen/typeddicts.py"

CATTRS = Task(
    name="cattrs",
    repository="python-attrs/cattrs",
    fix="6bc4708fb9b2ac52d9a18997e923da6a58916102",
    request=(
        "Read overrides from annotations: `a: Annotated[int, override(rename='b')]` should work like an override given "
        "to the function factories, for attrs classes, dataclasses, typed dicts and named tuples. Document it."
    ),
    paths=(".",),
    packages=(
        "attrs", "exceptiongroup", "hypothesis", "immutables", "pytest", "pytest-benchmark", "pytest-xdist",
        "typing-extensions",
    ),
    test=_OVERRIDES,
    answers=(
        Answer("I look for overrides.", (Run("ls"), Grep("override", "src"))),
        Answer("The factories.", (*_pieces(_GEN, 830), *_pieces("src/cattrs/gen/_shared.py", 64))),
        Answer(
            "Those of typed dicts and named tuples.",
            (*_pieces(_TYPED, 575), View("src/cattrs/cols.py", 1, 60), View("src/cattrs/cols.py", 215, 300)),
        ),
        Answer(
            "The docs.",
            (View("HISTORY.md", 1, 30), View("docs/customizing.md", 340, 430), View("docs/defaulthooks.md", 445, 465),
             View("docs/defaulthooks.md", 600, 640)),
        ),
        Answer(
            "Overrides of annotations, in all four kinds.",
            (
                Change("src/cattrs/gen/_shared.py"), Change(_GEN), Change(_TYPED), Change("src/cattrs/cols.py"),
                Change("tests/test_annotated_overrides.py"), Change("HISTORY.md"), Change("docs/customizing.md"),
                Change("docs/defaulthooks.md"), Run(_OVERRIDES),
            ),
        ),
        _WHOLE,
    ),
    title="Read overrides from Annotated",
    summary="An override in an annotation counts unless the factory is given another. With tests and docs.",
)  # fmt: skip

_STATE_TESTS = "cargo test --offline --quiet --manifest-path minijinja/Cargo.toml --test test_state"
_VM = "minijinja/src/vm"

MINIJINJA = Task(
    name="minijinja",
    repository="mitsuhiko/minijinja",
    fix="02f88dbf3734c31782ca0e011c1d5dccf10757e5",
    request=(
        "After an error in an include, a block or a macro the state stays inside the frame of it: frames, depth and "
        "pools must be restored when a nested evaluation fails."
    ),
    paths=("minijinja", "AGENTS.md"),
    packages=(),
    prepare=(
        "mkdir .cargo && cargo vendor --quiet --manifest-path minijinja/Cargo.toml vendor > .cargo/config.toml"
    ),
    installed="vendor",
    test=_STATE_TESTS,
    answers=(
        Answer(
            "I look for frames.", (Run("ls"), Grep("push_frame|pop_frame|incr_depth|take_closure", "minijinja/src"))
        ),
        Answer(
            "What pushes them.",
            (View(f"{_VM}/context.rs", 300, 423), View(f"{_VM}/mod.rs", 95, 180), View(f"{_VM}/mod.rs", 860, 1060)),
        ),
        Answer(
            "What the state promises, and its tests.",
            (View(f"{_VM}/state.rs", 180, 260), View("minijinja/tests/test_state.rs", 1, 134)),
        ),
        Answer(
            "Depth and frames are restored.",
            (
                Change(f"{_VM}/context.rs"), Change(f"{_VM}/mod.rs"), Change(f"{_VM}/state.rs"),
                Change("minijinja/tests/test_state.rs"), Run(_STATE_TESTS),
            ),
        ),
        _WHOLE,
    ),
    title="Restore nested evaluation frames on errors",
    summary="Includes, blocks, super() and macros restore frames and depth when they fail. With tests.",
)  # fmt: skip

_MARSHMALLOW = ".venv/bin/python -m pytest -q tests/test_ext_marshmallow.py"

APISPEC = Task(
    name="apispec",
    repository="marshmallow-code/apispec",
    fix="a05b37ba094869020c911aba8622cbc3c7303a8e",
    request="fields.Dict() without values should have `additionalProperties: {}`, as any value may stand there.",
    paths=(".",),
    packages=("marshmallow<4", "packaging", "pytest", "pyyaml", "openapi-spec-validator", "setuptools"),
    test=f"env PYTHONPATH=src {_MARSHMALLOW.removeprefix('env ')}",
    answers=(
        Answer("I look for it.", (Run("ls"), Grep("additionalProperties", "src"), Grep("dict_field", "tests"))),
        Answer(
            "The converter and its test.",
            (View("src/apispec/ext/marshmallow/field_converter.py", 470, 530),
             View("tests/test_ext_marshmallow.py", 1275, 1325), View("CHANGELOG.rst", 1, 40)),
        ),
        Answer(
            "Any value, without values.",
            (Change("src/apispec/ext/marshmallow/field_converter.py"), Change("tests/test_ext_marshmallow.py"),
             Change("CHANGELOG.rst")),
        ),
        Answer("The tests.", (Run(f"PYTHONPATH=src {_MARSHMALLOW}"),)),
        _WHOLE,
    ),
    title="Add additionalProperties for a Dict without values",
    summary="A Dict without values allows any: additionalProperties is {}. With a test and a line in the changelog.",
)  # fmt: skip

_DECOMPRESS = "middleware/decompress"

ECHO = Task(
    name="echo",
    repository="labstack/echo",
    fix="79b496800f75fe4a83835719842847a9d5b25c3e",
    request="The Decompress middleware does not decompress bodies with `Content-Encoding: GZIP`. Codings have no case.",
    paths=(".",),
    packages=(),
    prepare="go mod vendor",
    installed="vendor",
    test="go test ./middleware -run Decompress",
    answers=(
        Answer("I look for the encoding.", (Run("ls"), Grep("GZIPEncoding|gzipScheme", "."))),
        Answer("The middleware.", (View(f"{_DECOMPRESS}.go", 1, 140),)),
        Answer("Its tests.", (View(f"{_DECOMPRESS}_test.go", 1, 90), View(f"{_DECOMPRESS}_test.go", 470, 508))),
        Answer("The coding is compared without case.", (Change(f"{_DECOMPRESS}.go"), Change(f"{_DECOMPRESS}_test.go"))),
        Answer("The tests.", (Run("go test ./middleware -run Decompress"),)),
        _WHOLE,
    ),
    title="Match gzip as content coding in any case",
    summary="The coding is compared without case, as RFC 9110 has it. With a test.",
)  # fmt: skip

RECORDED = (YAML, KONG, ASTROID, CATTRS, MINIJINJA, APISPEC, ECHO)
