"""Findings of a review: the diff's lines, where a finding may stand, and how it is told apart. Pure, no I/O."""
