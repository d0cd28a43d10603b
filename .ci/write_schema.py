"""`make schema`: write the schemas in docs/, and the tables of docs/policy.md and docs/commands.md."""

from pathlib import Path

from policy_table import as_table

from bot.policy.schema import schema_text
from bot.publish.bundle import as_text as outcome_as_text
from bot.verbs.record import ANYWHERE, COLLABORATORS, EVERYBODY, Place
from bot.verbs.registry import VERBS

DOCS = Path(__file__).parents[1] / "docs"
HEADING = "## Every key\n"


def main() -> None:
    (DOCS / "agent.schema.json").write_text(schema_text(), encoding="utf-8")
    (DOCS / "outcome.schema.json").write_text(outcome_as_text(), encoding="utf-8")
    _write_verbs(DOCS / "commands.md")
    page = DOCS / "policy.md"
    before, heading, after = page.read_text(encoding="utf-8").partition(HEADING)
    intro, _, rest = after.partition("| key |")
    tail = rest.partition("\n\n")[2]
    page.write_text(before + heading + intro + as_table() + (f"\n{tail}" if tail else ""), encoding="utf-8")


def _write_verbs(page: Path) -> None:
    before, _, after = page.read_text(encoding="utf-8").partition("| verb | does |")
    page.write_text(f"{before}{verb_table()}\n{after.partition(chr(10) * 2)[2]}", encoding="utf-8")


def verb_table() -> str:
    """Every verb as docs/commands.md lists it."""
    rows = ["| verb | does | example | where | by default for |", "| --- | --- | --- | --- | --- |"]
    for one in VERBS.values():
        who = {EVERYBODY: "everybody", COLLABORATORS: "contributors"}.get(one.tiers, "maintainers")
        places = [f"{place}s" for place in Place if place in one.places]
        where = "anywhere" if one.places == ANYWHERE else " and ".join(places)
        rows.append(f"| `{one.name}` | {one.help} | `/agent {one.example}` | {where} | {who} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
