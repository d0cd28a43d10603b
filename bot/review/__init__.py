"""Findings of a review: parse the diff, anchor findings on its lines, recognise repeated ones. Pure, no I/O."""
