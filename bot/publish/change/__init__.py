"""Turn a bundle's change into a commit and publish it.

The bundle is untrusted: the gate judges the patch again, the base commit must be in the base branch or the pull
request, and policy and template are read from the base branch.
"""
