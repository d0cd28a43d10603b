"""Skills: reading and validating SKILL.md files, the skills of a session, and the tool that loads them.

The format is the Agent Skills specification (agentskills.io). Skills come with the program, from the base
commit and, on a person's machine, from their own folders, never from the head of a pull request.
"""
