"""Servers that refuse to run as root run as a user without rights."""

import contextlib
import os
import pwd
import subprocess

from .problems import Missing


def unprivileged(*names):
    """The first of these users that there is; None where this is not root."""
    if os.geteuid() != 0:
        return None
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def check_reachable(directory, user):
    blocked = None
    for parent in [directory, *directory.parents]:
        done = subprocess.run(["/bin/sh", "-c", 'cd "$0"', str(parent)], user=user, extra_groups=[],
                              group=pwd.getpwnam(user).pw_gid, cwd="/", stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            break
        blocked = parent
    if blocked:
        raise Missing(f"user '{user}' cannot enter {blocked}; choose another --dir")
