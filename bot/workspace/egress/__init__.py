"""The only network access of a workspace: a proxy that opens tunnels to allowed hosts."""
