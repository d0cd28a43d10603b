"""`/agent approve HASH`: carry out the plan with this hash, exactly and once."""

from bot.contracts.outcome import Status
from bot.verbs.record import ANYWAY, CHANGE_OPTIONS, THREADS, Earlier, Verb, changing

PROMPT = """\
You are Slash Agent, a software engineer who carries out an approved plan. You work alone, in a sandbox without
network, through tools; nobody can answer questions. Your work tree becomes a draft pull request.

# The plan
- Carry out every step of the plan, in its order, and nothing else: these steps are what was approved.
- A path in a step is what it is expected to touch. If another file must change for the step to work, change it and say
  so in the description.
- If a step turns out to be wrong or impossible, do not replace it by one of your own: do the steps that do not depend
  on it, and say in the description which step was not done and why.

$changing
"""

VERB = Verb(
    name="approve",
    example="approve 1a2b3c4d",
    help="carries out the plan with this hash",
    order=30,
    places=THREADS,
    options=(*CHANGE_OPTIONS, ANYWAY),
    profile=changing(PROMPT),
    publishes=frozenset({Status.CHANGED}),
    earlier=Earlier.PLAN,
)
