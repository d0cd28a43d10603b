"""GraphQL exchanges held against GitHub's own schema: the query, and every value that came back."""

import atexit
import json
import subprocess
from collections.abc import Iterable
from functools import cache

from slash_forge.faults import Exchange
from tests.support.npm import installed

# The answer is executed as if it were the data: what does not fit the schema's types becomes an error.
_SCRIPT = """
const [schemaFile, graphqlPath] = process.argv.slice(1);
const { buildSchema, parse, validate, execute } = require(graphqlPath);
const schema = buildSchema(require('fs').readFileSync(schemaFile, 'utf8'), { assumeValid: true });
const findings = (exchanges) => {
  const found = [];
  for (const { query, variables, data } of exchanges) {
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
  return found;
};
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  console.log(JSON.stringify(findings(JSON.parse(line))));
});
"""


def findings(exchanges: Iterable[Exchange]) -> list[str]:
    """What is wrong with the queries that were answered, and with their answers."""
    queries = []
    for exchange in exchanges:
        if exchange.path == "/api/graphql" and exchange.status == 200:
            answer = json.loads(exchange.body)
            if "data" in answer:
                partial = bool(answer.get("errors"))
                request_body = exchange.json
                queries.append(
                    {
                        "query": request_body["query"],
                        "variables": request_body.get("variables") or {},
                        "data": None if partial else answer["data"],
                    }
                )
    if not queries:
        return []
    validator = _validator()
    assert validator.stdin is not None and validator.stdout is not None
    validator.stdin.write(f"{json.dumps(queries)}\n")
    validator.stdin.flush()
    errors: list[str] = json.loads(validator.stdout.readline())
    return errors


@cache
def _validator() -> subprocess.Popen[str]:
    """One for all tests, because reading the schema takes half a second. It answers each line of exchanges with a line
    of findings, and ends with its input."""
    schema = installed("@octokit/graphql-schema", "15.26.1")
    validator = subprocess.Popen(
        ["node", "-e", _SCRIPT, schema / "schema.graphql", schema.parents[1] / "graphql"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, validator)
    return validator


def _end(validator: subprocess.Popen[str]) -> None:
    with validator:
        validator.kill()
