"""`python -P -m bot ...` by way of the server in `warm_server.py`: ADDRESS PYTHON LIMIT and what Python was given.

Anything else is handed to the real Python.
"""

import array
import json
import os
import signal
import socket
import struct
import sys

address, python, limit, *argv = sys.argv[1:]
if argv[:3] != ["-P", "-m", "bot"]:
    os.execv(python, [python, *argv])  # what it was asked for, by the interpreter that the tests run in
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(address)
    asked = {"argv": argv[3:], "env": dict(os.environ), "cwd": os.getcwd()}
    handles = array.array("i", [0, 1, 2])
    server.sendmsg([json.dumps(asked).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
    server.settimeout(float(limit))
    (pid,) = struct.unpack("i", server.recv(4))
    try:
        (code,) = struct.unpack("i", server.recv(4))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
