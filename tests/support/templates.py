"""Generates the workflow that `init` writes from our own: without `workflow_call`, with the published action and a
placeholder for the set-up of checks."""

from __future__ import annotations

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
PREPARE = "$PREPARE"


def two_jobs(agent: str) -> str:
    """`agent` is the text of our `agent.yml`."""
    text = _HEAD + agent[agent.index("name: agent\n") :]
    text = re.sub(r"  workflow_call:\n(?:    .*\n)+", "", text)
    text = _FETCH.sub("", text)
    text = re.sub(r"uses: \./ # zizmor.*", _ACTION, text)
    text = re.sub(r"\(inputs\.replies \|\| (contains\(.*'/agent'\))\)", r"\1", text)
    text = re.sub(r"          [\w-]+: \$\{\{ inputs\..*\n", "", text)
    text = re.sub(r"          (?:app-private-key|openai-api-key): .*\n", "", text)
    text = text.replace("anthropic-api-key: ${{ secrets.ANTHROPIC_API_KEY }}", "$INPUT: ${{ secrets.$KEY }}")
    return text.replace(_RUN, f"{PREPARE}{_RUN}")


_PREPARE_JOB = """\
  prepare:
    name: Prepare the environment
    needs: gate
    if: needs.gate.outputs.commit != ''
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    concurrency: # each command is alone in its group
      group: agent-prepare-${{ github.event.comment.id || github.event.review.id }}
      cancel-in-progress: false
    cache-mode: read # what code of the repository could write here, other workflows would run
    permissions:
      contents: read # the checkout; there is no secret in this job, since code of the repository runs in it
    outputs:
      environment: ${{ steps.kept.outputs.environment }}
    steps:
      - name: Check out the commit that the gate named
        uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          ref: ${{ needs.gate.outputs.commit }}
          persist-credentials: false
      - name: Name what was installed for this commit
        id: slash-agent-name
        run: echo "key=slash-agent-environment-$ImageOS-$ImageVersion-$(git rev-parse HEAD)" >> "$GITHUB_OUTPUT"
      - name: Restore it, if a push to the default branch kept it
        id: slash-agent-restored
        uses: actions/cache/restore@55cc8345863c7cc4c66a329aec7e433d2d1c52a9 # v6.1.0
        with:
          path: ${{ runner.temp }}/slash-agent-environment.tar
          key: ${{ steps.slash-agent-name.outputs.key }}
$STEPS      - name: Keep what these steps left
        id: kept
        ACTION
        with:
          mode: keep

"""


def prepared(agent: str) -> str:
    """`two_jobs(agent)` with the job `prepare` between its gate and its run."""
    text = two_jobs(agent)
    text = text.replace(
        "# repository. Who asks",
        "# repository. Before them `prepare`, without any secret, runs the set-up steps of CI. Who asks",
    )
    text = text.replace(
        "      gate: ${{ steps.agent.outputs.gate }}\n",
        "      gate: ${{ steps.agent.outputs.gate }}\n      commit: ${{ steps.agent.outputs.commit }}\n",
    )
    text = text.replace("  run:\n    name:", _PREPARE_JOB.replace("ACTION", _ACTION) + "  run:\n    name:")
    text = text.replace(
        "    needs: gate\n    if: needs.gate.outputs.gate != ''\n    runs-on: ubuntu-24.04\n    timeout-minutes: 45\n",
        "    needs: [gate, prepare]\n"
        "    if: ${{ !cancelled() && needs.gate.outputs.gate != '' }} # without `prepare`, too\n"
        "    runs-on: ubuntu-24.04\n    timeout-minutes: 45\n    cache-mode: none\n",
    )
    return text.replace(
        "          gate: ${{ needs.gate.outputs.gate }}\n",
        "          gate: ${{ needs.gate.outputs.gate }}\n"
        "          environment: ${{ needs.prepare.outputs.environment }}\n",
    )
