"""New problems that an edit brings, found by language servers. `service` joins the parts; the servers themselves are
described in `bot/ecosystems`."""
