"""Answers the tool calls of the model: policy, workspace, result tools, skills, subagents."""
