"""GraphQL exchanges held against GitHub's own schema: the query, and every value that came back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from slash_forge.faults import Exchange
from tests.support.npm import installed

# The answer is executed as if it were the data: what does not fit the schema's types becomes an error.
_SCRIPT = """
const [schemaFile, graphqlPath] = process.argv.slice(1);
const { buildSchema, parse, validate, execute } = require(graphqlPath);
const schema = buildSchema(require('fs').readFileSync(schemaFile, 'utf8'), { assumeValid: true });
const found = [];
for (const { query, variables, data } of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
  const wrong = validate(schema, parse(query));
  if (wrong.length) { found.push(...wrong.map(String)); continue; }
  if (!data) continue;
  const typeResolver = (value) => value.__typename || 'User';
  const fieldResolver = (source, args, context, info) => source[info.path.key];
  const again = execute({ schema, document: parse(query), rootValue: data, variableValues: variables,
                          typeResolver, fieldResolver });
  found.push(...(again.errors || []).map(String));
  if (!again.errors && JSON.stringify(again.data) !== JSON.stringify(data)) found.push('not the same: ' + query);
}
console.log(JSON.stringify(found));
"""


def findings(exchanges: Iterable[Exchange]) -> list[str]:
    """What is wrong with the queries that were answered, and with their answers."""
    asked = []
    for exchange in exchanges:
        if exchange.path == "/api/graphql" and exchange.status == 200:
            answer = json.loads(exchange.body)
            if "data" in answer:
                partial = bool(answer.get("errors"))
                sent = exchange.json
                asked.append(
                    {
                        "query": sent["query"],
                        "variables": sent.get("variables") or {},
                        "data": None if partial else answer["data"],
                    }
                )
    if not asked:
        return []
    schema = installed("@octokit/graphql-schema", "15.26.1")
    done = subprocess.run(
        ["node", "-e", _SCRIPT, schema / "schema.graphql", schema.parents[1] / "graphql"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: list[str] = json.loads(done.stdout)
    return found
