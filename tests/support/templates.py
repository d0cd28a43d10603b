"""Generates the workflow that `init` writes from our own: without `workflow_call`, with the published action and a
placeholder for the set-up of checks."""

import re

_HEAD = """\
# A comment that begins with /agent becomes a draft pull request, a review or an answer. Two jobs of it count: `run` has
# the model's key and a token that only reads code, `publish` the token that can push, and it runs no code of the
# repository. Who asks is looked at before, by `gate`; `stop`, `status` and `help` wait for nobody.
"""
_ACTION = (
    "uses: slash-agent/slash-agent@v0 # zizmor: ignore[unpinned-uses] name a commit in place of v0 to look at each "
    "change first"
)
_FETCH = re.compile(r"      - name: Fetch the action\n(?:        .*\n)+")
_RUN = "      - name: Run the agent\n        id: agent\n"
PREPARE = "<< prepare >>"
_REPLIES = "<% if replies %>\n{}replies: true\n<% endif %>\n"


def two_jobs(agent: str) -> str:
    """`agent` is the text of our `agent.yml`."""
    text = _HEAD + agent[agent.index("name: agent\n") :]
    text = re.sub(r"  workflow_call:\n(?:    .*\n)+", "", text)
    text = _FETCH.sub("", text)
    text = re.sub(r"uses: \./ # zizmor.*", _ACTION, text)
    text = re.sub(
        r"(.*)\(inputs\.replies \|\| (contains\(.*'/agent'\))\)(.*\n)",
        r"<% if not replies %>\n\1\2\3<% endif %>\n",
        text,
    )
    text = re.sub(r"          [\w-]+: \$\{\{ inputs\..*\n", "", text)
    text = re.sub(r"( +)mode: (?:gate|run|publish)\n", lambda mode: mode[0] + _REPLIES.format(mode[1]), text)
    text = re.sub(r"          (?:app-private-key|openai-api-key): .*\n", "", text)
    text = text.replace(
        "anthropic-api-key: ${{ secrets.ANTHROPIC_API_KEY }}", "<< input >>: ${{ secrets.<< key >> }}"
    )
    return text.replace(_RUN, f"{PREPARE}{_RUN}")


_OF_PREPARE = (
    (r" Before them `prepare`, without any secret, runs the set-up steps of CI\.", ""),
    (r"  prepare:\n(?:(?:    .*)?\n|<< steps >>.*\n)+", ""),
    (r" +(?:commit: \$\{\{ steps|environment: \$\{\{ needs|cache-mode: none).*\n", ""),
    (r"needs: \[gate, prepare\]\n +if: \$\{\{ !cancelled\(\) && (.*) \}\} # without.*", r"needs: gate\n    if: \1"),
)  # fmt: skip


def without_preparation(text: str) -> str:
    """The same without the job `prepare`, and without what of the other jobs belongs to it."""
    for pattern, instead in _OF_PREPARE:
        text = re.sub(pattern, instead, text)
    return text
