"""Skills: what a folder with a SKILL.md says, which ones a session has, and the one tool that loads them.

The format is the Agent Skills specification (agentskills.io). Skills come with the program or from the base commit,
never from the head of a pull request.
"""
