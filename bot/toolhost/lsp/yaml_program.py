"""A program that checks whether a text is YAML. It runs in a process of its own, since the tool host imports the
standard library only.

Its argument is the folder of PyYAML, its standard input the text. It prints one JSON object: empty, or with `line`,
`column` and `message`. It composes nodes only: tags construct nothing.
"""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location


def main() -> None:
    folder = sys.argv[1]
    spec = spec_from_file_location("yaml", f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["yaml"] = yaml = module_from_spec(spec)
    spec.loader.exec_module(yaml)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = sys.stdin.buffer.read()
    try:
        for _ in yaml.compose_all(text, Loader=loader):
            pass
        fault = {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "it cannot be parsed"
        fault = {
            "line": mark.line + 1 if mark else 1,
            "column": mark.column + 1 if mark else 1,
            "message": message,
        }
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        fault = {"line": 1, "column": 1, "message": str(error).partition("\n")[0] or "it cannot be parsed"}
    except RecursionError:
        fault = {"line": 1, "column": 1, "message": "it is nested too deeply"}
    sys.stdout.write(json.dumps(fault))


if __name__ == "__main__":
    main()
