"""Language servers and checkers of edited files, in two layers.

Client: `codecs`, `protocol`, `process`, `jsonrpc`, `settling`, `client`, `server_process`, `server`, `server_loop`. It
gives a `LanguageServer` with blocking calls.

Service: `registry`, `launch`, `workers`, `cargo`, `cargo_worker`, `worker_pool`, `text_checkers`, `baseline`,
`importers`, `report`, `reported`, `service`. It decides which servers and checkers take a file, and what is new in
their results.
"""
