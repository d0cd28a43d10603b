"""Runs `python -P -m bot ...` through `warm_server.py`. Arguments: ADDRESS PYTHON LIMIT, then those of Python.

Other command lines are run by the real Python.
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
    os.execv(python, [python, *argv])
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(address)
    request = {"argv": argv[3:], "env": dict(os.environ), "cwd": os.getcwd()}
    handles = array.array("i", [0, 1, 2])
    server.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
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
