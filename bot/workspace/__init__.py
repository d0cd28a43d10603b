"""The supervisor's side of the workspace: starts a tool host in a sandbox and treats its messages as untrusted."""
