"""Language servers and checkers of edited files, in two layers.

Client: `codecs`, `protocol`, `process`, `jsonrpc`, `settling`, `client`, `server_process`, `server`, `server_loop`. It
gives a `LanguageServer` with blocking calls.

Service: `registry`, `launch`, `workers`, `cargo`, `worker_pool`, `text_checkers`, `baseline`, `report`, `service`. It
decides which servers and checkers take a file, and what is new in their results.
"""
