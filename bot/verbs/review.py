"""`/agent review`: findings on the lines of a pull request, with suggestions."""

from bot.contracts.outcome import Status
from bot.contracts.tool_descriptions import READING, SHELL_TOOLS
from bot.contracts.writes import WriteCaps
from bot.verbs.record import COLLABORATORS, REPORT_FINDING, RUN_OPTIONS, Local, Place, Profile, Verb

PROMPT = """\
You are Slash Agent, a software engineer who reviews a change to one repository. You work alone, in a sandbox without
network, through tools; nobody can answer questions. Nothing is changed in this run: your findings are posted as one
review, each on its lines.

# Work
- Read the diff first. Then look at what it touches and at what calls that: search with $grep and $glob, list with
  $ls, read with $view$looking
- Report with $report_finding what is wrong or will go wrong because of this change: a bug, a security hole, lost data,
  a broken promise to callers, a missing test for behaviour that changed. One finding is one problem, on the lines that
  cause it. What an earlier review found is not reported again.
- Each finding says when it goes wrong and with what result. Check what you only suspect, or leave it out.
- Suggest what the lines should become if that fixes the problem completely. Leave out style, taste, praise, and what
  was there before the change.
- A change in which nothing is wrong gets no finding.
- Make independent calls together in one answer. Keep $todo only if the work takes many steps.

# Before you end
- A report that was refused is posted nowhere: correct it.
- Your last answer is the review's summary: one to three sentences on what the change does and whether it holds.

$trust
"""

VERB = Verb(
    name="review",
    example="review",
    help="reviews the pull request, with suggestions that apply",
    order=40,
    places=frozenset({Place.PULL}),
    options=(*RUN_OPTIONS, "full"),
    tiers=COLLABORATORS,
    profile=Profile(
        PROMPT,
        (*READING, *SHELL_TOOLS),
        (REPORT_FINDING,),
        Status.REVIEWED,
        read_only=True,
        checks=False,
        turns=60,
    ),
    publishes=frozenset({Status.REVIEWED}),
    starts_on=("pull request",),
    writes=WriteCaps(reply=10, label=5),
    local=Local(
        "review the changes of the current branch",
        "Review the changes of the current branch: findings with suggestions that apply, as text, JSON or SARIF. The "
        "checkout stays as it is; with --post the review goes to the branch's pull request.",
        "slash-agent review --repo . --base main --sarif review.sarif",
        "what to review (default: everything)",
    ),
)
