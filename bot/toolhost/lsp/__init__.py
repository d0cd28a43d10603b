"""New problems that an edit brings, found by language servers. The servers are described in `bot/ecosystems`."""
