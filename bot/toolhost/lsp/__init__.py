"""Problems that an edit brings, found by language servers and parsers.

`registry` is the table of servers, `launch` decides whether one may be started, `client` speaks the protocol with one,
`parsers` reads files that have no server, `baseline` finds what is new, `report` words it, and `service` joins them.
"""
