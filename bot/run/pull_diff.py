"""What a pull request changes, as text for the model of a run that does not review it."""

from __future__ import annotations

from bot.checkout.clone import Checkout
from bot.checkout.compare import diff_between
from bot.checkout.git import GitError
from bot.findings.parse import DiffError, parse_diff
from bot.findings.shown import show

# In characters, about 20,000 tokens: unlike for a review, it is the background of the work and not its subject.
MOST = 80_000
MOST_A_FILE = 16_000


def pull_diff(checkout: Checkout) -> str:
    """The diff from where the pull request began to its head; a sentence where it cannot be had."""
    if not checkout.merge_base:
        return (
            "(There is no diff: where the pull request began could not be found. Its files are in the tree.)"
        )
    try:
        diff = parse_diff(diff_between(checkout.git, checkout.merge_base, checkout.base_sha))
    except (GitError, DiffError) as error:
        return f"(There is no diff: {error})"
    if not diff.files:
        return "(The pull request changes no file.)"
    return show(diff, MOST, MOST_A_FILE).text
