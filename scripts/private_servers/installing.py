"""Getting what a server needs: packages as root, the rest into the cache directory of the user."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from .problems import Missing

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "argiope-servers"
LOG = CACHE / "install.log"


def run(command, **options):
    """A step of an installation. What it says goes to the log, its last words into the error."""
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    with open(LOG, "a") as log:
        log.write(f"$ {shlex.join(map(str, command))}\n{done.stdout}\n")
    if done.returncode != 0:
        raise Missing(f"'{Path(command[0]).name}' failed: {last_words(done.stdout)}")
    return done.stdout


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|fatal|exception|cannot|failed|^E:", line, re.IGNORECASE)]
    return (telling or lines or ["it said nothing"])[-1][:300]


def apt(*packages):
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing(f"not installed; as root, 'apt-get install {' '.join(packages)}' does it")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], env=environment)
    with no_services():
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], env=environment)


@contextlib.contextmanager
def no_services():
    """Debian's way to say that a package being installed shall not start its service."""
    policy = Path("/usr/sbin/policy-rc.d")
    try:
        with open(policy, "x") as file:
            file.write("#!/bin/sh\nexit 101\n")
    except FileExistsError:
        yield
        return
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def numbers_in(text, pattern):
    found = re.search(pattern, text)
    return tuple(int(part) for part in found.groups()) if found else (0,)


def output_of(*command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout + done.stderr
