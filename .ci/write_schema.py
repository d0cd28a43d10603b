"""Write docs/agent.schema.json, the table of keys in docs/policy.md, and docs/outcome.schema.json: `make schema`."""

from __future__ import annotations

from pathlib import Path

from policy_table import as_table

from bot.policy.read_policy import schema_text
from bot.publish.bundle.read import as_text as outcome_as_text

DOCS = Path(__file__).parents[1] / "docs"
HEADING = "## Every key\n"


def main() -> None:
    (DOCS / "agent.schema.json").write_text(schema_text(), encoding="utf-8")
    (DOCS / "outcome.schema.json").write_text(outcome_as_text(), encoding="utf-8")
    page = DOCS / "policy.md"
    before, heading, after = page.read_text(encoding="utf-8").partition(HEADING)
    intro, _, rest = after.partition("| key |")
    tail = rest.partition("\n\n")[2]
    page.write_text(before + heading + intro + as_table() + (f"\n{tail}" if tail else ""), encoding="utf-8")


if __name__ == "__main__":
    main()
