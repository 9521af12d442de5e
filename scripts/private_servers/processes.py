"""Processes that outlive the program that started them, and are found again; ports for them."""

import contextlib
import os
import pwd
import random
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from .problems import Missing

ADDRESS = "127.0.0.1"
READY_LIMIT_SECONDS = 90
STOP_LIMIT_SECONDS = 30
POLL_SECONDS = 0.05

# Set when this program is told to end while it waits.
ending = threading.Event()


def read_stat(text):
    """(pid, state, parent, start time) of a line of /proc/PID/stat. The name in it may contain anything."""
    fields = text.rpartition(")")[2].split()
    return int(text.split()[0]), fields[0], int(fields[1]), int(fields[19])


def stat_of(pid):
    try:
        return read_stat(Path(f"/proc/{pid}/stat").read_text())
    except (OSError, ValueError, IndexError):
        return None


def is_alive(pid, start):
    stat = stat_of(pid)
    return stat is not None and stat[1] not in "ZX" and stat[3] == start


def spawn(command, pid_file, log, directory, user=None, environment=None):
    """Starts a process in a session of its own. It writes down itself who it is, before it becomes the command: so it is
    found again even if this program dies at once. The start time tells it from a later process with its number."""
    identity = {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    # The file is its standard input, as it may not be allowed to open it.
    script = 'read -r line <"/proc/$$/stat" && echo "$line" >&0 && exec "$@" </dev/null'
    with open(pid_file, "w") as record, open(log, "ab") as output:
        return subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *map(str, command)],
            stdin=record, stdout=output, stderr=output, cwd=directory, start_new_session=True,
            env={**os.environ, "LC_ALL": "C", **(environment or {})}, **identity,
        )


def recorded(pid_file):
    """(pid, start time) of the process that wrote the file, if it lives."""
    try:
        pid, _, _, start = read_stat(pid_file.read_text())
    except (OSError, ValueError, IndexError):
        return None
    return (pid, start) if is_alive(pid, start) else None


def family(pid_file):
    """The process and all that come from it, as {pid: start time}. PostgreSQL gives each backend a session of its own,
    so that neither process group nor session has them all."""
    leader = recorded(pid_file)
    if leader is None:
        return {}
    found = {leader[0]: leader[1]}
    stats = [stat for entry in os.listdir("/proc") if entry.isdigit() and (stat := stat_of(entry))]
    grown = True
    while grown:
        new = {pid: start for pid, _, parent, start in stats if parent in found and pid not in found}
        found.update(new)
        grown = bool(new)
    return {pid: start for pid, start in found.items() if is_alive(pid, start)}


def send(processes, number):
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def end(pid_file, number):
    """Ends a process by the signal, and by kill -9 what is left of its family when the time is up."""
    processes = family(pid_file)
    if processes:
        send(processes, signal.SIGCONT)
        send([recorded(pid_file)[0]] if recorded(pid_file) else [], number)
        if number == signal.SIGKILL:
            send(processes, number)
        deadline = time.monotonic() + STOP_LIMIT_SECONDS
        while any(is_alive(*process) for process in processes.items()):
            if time.monotonic() > deadline:
                processes.update(family(pid_file))
                send(processes, signal.SIGKILL)
            time.sleep(POLL_SECONDS)
    pid_file.unlink(missing_ok=True)


def wait(is_done, may_continue, complaint):
    deadline = time.monotonic() + READY_LIMIT_SECONDS
    while not is_done():
        if not may_continue():
            # It may have been done in between.
            if is_done():
                return
            raise Missing("it ended")
        if time.monotonic() > deadline:
            raise Missing(f"{complaint} after {READY_LIMIT_SECONDS} s")
        if ending.wait(POLL_SECONDS):
            raise Missing("interrupted")


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def choose_port():
    """Below the range from which the system takes ports for outgoing connections: a test that makes thousands of them
    must not get the port of a server that is stopped for a while."""
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32768
    candidates = range(10240, lowest) if lowest > 12000 else range(10240, 65536)
    for _ in range(1000):
        port = random.choice(candidates)
        if is_free(port):
            return port
    raise Missing("no free port")
