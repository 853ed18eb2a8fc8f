#!/usr/bin/python3
"""Runs a command with a terminal as its standard error and tells what it showed there.

    on_terminal.py COMMAND...     every state of the progress line, one a line; exit status of the command
"""
import os
import pty
import re
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # Linux tells the end of a terminal so
        break
    if not part:
        break
    text += part
_, status = os.waitpid(pid, 0)
for shown in re.findall(rb"\r\x1b\[K([^\r\n]*)", text):
    print(shown.decode())
sys.exit(os.waitstatus_to_exitcode(status))
