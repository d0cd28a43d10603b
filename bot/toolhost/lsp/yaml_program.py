"""A program that checks whether a text is YAML: the tool host imports the standard library only. Its argument is the
folder of PyYAML, its standard input the text; it prints line, column and message of the first error, as JSON."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location


def main() -> None:
    folder = sys.argv[1]
    spec = spec_from_file_location("yaml", f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    sys.modules["yaml"] = yaml = module_from_spec(spec)
    spec.loader.exec_module(yaml)
    fault = (0, 0, "")
    try:
        for _ in yaml.compose_all(
            sys.stdin.buffer.read(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        ):
            pass  # nodes only: tags construct nothing
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        fault = (*position, error.problem or error.context or "it cannot be parsed")
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        fault = (1, 1, str(error).partition("\n")[0] or "it cannot be parsed")
    except RecursionError:
        fault = (1, 1, "it is nested too deeply")
    sys.stdout.write(json.dumps(fault))


if __name__ == "__main__":
    main()
