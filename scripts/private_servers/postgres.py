"""PostgreSQL, from the distribution's package. Its own clusters are neither started nor touched."""

import contextlib
import os
import pwd
import shutil
import signal
from pathlib import Path

from .installing import apt, output_of
from .processes import ADDRESS, recorded, stat_of
from .server import Server
from .users import check_reachable, unprivileged


class Postgres(Server):
    name = "postgres"
    # Fast: ends the connections, writes a checkpoint.
    stop_signal = signal.SIGINT

    def __init__(self, root):
        super().__init__(root)
        # It refuses to run as root.
        self.user = unprivileged("postgres", "nobody")

    @staticmethod
    def program(name):
        versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
        return versions[-1] if versions else shutil.which(name)

    def missing(self):
        if not self.program("postgres") or not self.program("initdb"):
            return "postgresql is not installed"
        if os.geteuid() == 0 and self.user is None:
            return "it refuses to run as root, and there is no user 'postgres' or 'nobody'"
        return None

    def install(self):
        apt("postgresql")

    def prepare(self):
        password = self.write("password", self.settings["secret"])
        self.data.mkdir(mode=0o700)
        if self.user:
            self.home.chmod(0o755)
            account = pwd.getpwnam(self.user)
            for path in [self.data, password]:
                os.chown(path, account.pw_uid, account.pw_gid)
            check_reachable(self.home, self.user)
        # The set does not outlive a crash of the machine: what initdb writes need not reach the disk. What the server
        # writes later does, as it would in earnest.
        self.step(self.program("initdb"), "--pgdata", self.data, "--username=argiope", f"--pwfile={password}",
                  "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions")
        password.unlink()

    def command(self):
        options = {
            "listen_addresses": ADDRESS,
            "port": self.settings["port"],
            "unix_socket_directories": "",
            "max_connections": 200,
            # In its own directory: nothing is left in the system's if it is killed.
            "dynamic_shared_memory_type": "mmap",
        }
        settings = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        return [self.program("postgres"), "-D", self.data, *settings]

    def is_ready(self):
        # The eighth line of its lock file is the state of the server.
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        leader = recorded(self.pid_file)
        return leader is not None and len(lines) > 7 and lines[0] == str(leader[0]) and lines[7].strip() == "ready"

    def variables(self):
        url = f"postgres://argiope:{self.settings['secret']}@{self.address()}/postgres"
        return {"ARGIOPE_TEST_POSTGRES": url}

    def configure(self):
        self.forget()

    def forget(self):
        """After kill -9 its lock file is still there, and with it a segment of shared memory. PostgreSQL takes the file
        for that of a living server as long as nobody has reaped the dead one."""
        lock = self.data / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError, IndexError):
            lines = lock.read_text().splitlines()
            stat = stat_of(int(lines[0]))
            if stat is None or stat[1] in "ZX":
                output_of("ipcrm", "-m", lines[6].split()[1])
                lock.unlink()
