"""A language server that does what its script says, and writes down what it is sent. Run with the script's file (JSON)
and the log's: `python -I -S play_language_server.py SCRIPT LOG`.

The script: `start`, actions before anything is read; `on`, for each method a list of lists of actions, the first for
the first message of that name and so on, the last for all that follow. Requests that are not in it are answered by
`null`. The first process that runs the script counts as the first `life`; `lives` replaces parts of it for later ones.
"""

import json
import os
import sys
import time

ANSWER_NOTHING = [["reply", None]]


class Player:
    def __init__(self, script: dict, log: str) -> None:
        self.script = script
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.counts: dict = {}
        self.versions: dict = {}

    def write(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def note(self, entry: dict) -> None:
        os.write(self.log, json.dumps(entry).encode() + b"\n")

    def take(self, message: dict) -> None:
        self.note(message)
        document = (message.get("params") or {}).get("textDocument", {})
        if "version" in document:
            self.versions[document["uri"]] = document["version"]
        method = message.get("method", "")
        actions = self.script["on"].get(method)
        if actions is None:
            return self.play(ANSWER_NOTHING if method and "id" in message else [], message)
        turn = self.counts.get(method, 0)
        self.counts[method] = turn + 1
        return self.play(actions[min(turn, len(actions) - 1)], message)

    def play(self, actions: list, message: dict) -> None:
        uri = ((message.get("params") or {}).get("textDocument") or {}).get("uri")
        for name, *arguments in actions:
            if name == "reply":
                self.write({"id": message["id"], "result": arguments[0]})
            elif name == "items":
                self.write({"id": message["id"], "result": {"kind": "full", "items": arguments[0]}})
            elif name == "error":
                self.write({"id": message["id"], "error": {"code": arguments[0], "message": "as scripted"}})
            elif name == "send":
                self.write(arguments[0])
            elif name == "publish":  # the items, and how far off the version is; none without
                version = {"version": self.versions[uri] + arguments[1]} if len(arguments) > 1 else {}
                params = {"uri": uri, "diagnostics": arguments[0]} | version
                self.write({"method": "textDocument/publishDiagnostics", "params": params})
            elif name == "progress":
                self.write(
                    {
                        "method": "$/progress",
                        "params": {"token": arguments[0], "value": {"kind": arguments[1]}},
                    }
                )
            elif name == "raw":
                self.raw(arguments[0].encode("latin-1") * (arguments[1] if len(arguments) > 1 else 1))
            elif name == "flood":
                while True:
                    self.write(arguments[0])
            elif name == "stderr":
                os.write(2, arguments[0].encode() * arguments[1])
            elif name == "until":  # a file is there, in the folder it works on
                while not os.path.exists(arguments[0]):
                    time.sleep(0.01)
            elif name == "sleep":
                time.sleep(arguments[0])
            elif name == "child":  # which holds all our pipes, in a session of its own if it says so
                if os.fork() == 0:
                    if arguments[0]:
                        os.setsid()
                    self.note({"child": os.getpid()})
                    time.sleep(3600)
                    os._exit(0)
            elif name == "close":
                os.close(1)
            elif name == "exit":
                os._exit(arguments[0])
            elif name == "kill":
                os.kill(os.getpid(), arguments[0])
            else:
                raise ValueError(name)


def main() -> None:
    with open(sys.argv[1]) as file:
        script = json.load(file)
    log = sys.argv[2]
    life = 0
    if os.path.exists(log):
        with open(log) as file:
            life = sum('"life"' in line for line in file)
    script = {"start": [], "on": {}} | script
    script |= script.get("lives", {}).get(str(life), {})
    player = Player(script, log)
    player.note({"life": life, "pid": os.getpid()})
    player.play(script["start"], {})
    buffer = b""
    while piece := os.read(0, 1 << 20):
        buffer += piece
        if script.get("packets"):
            player.note({"packet": piece.decode()})
        while (end := buffer.find(b"\r\n\r\n")) >= 0:
            size = int(buffer[:end].partition(b":")[2])
            if len(buffer) < end + 4 + size:
                break
            message = json.loads(buffer[end + 4 : end + 4 + size])
            buffer = buffer[end + 4 + size :]
            player.take(message)
            if message.get("method") == "exit":
                return


if __name__ == "__main__":
    main()
