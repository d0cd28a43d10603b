"""A bundle's change, made a commit again and brought to GitHub.

Nothing is believed of the bundle that can be looked up: the gate judges the patch again, the commit it applies to must
be one that the base branch or the pull request has, and policy and template are read from the base branch.
"""
