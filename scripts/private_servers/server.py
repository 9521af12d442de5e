"""What all servers have in common: made once, started and stopped many times on the same port with the same data."""

import json
import os
import secrets
import shutil
import signal
from pathlib import Path

from .installing import last_words
from .problems import Missing, Wrong
from .processes import ADDRESS, choose_port, end, family, is_free, recorded, send, spawn, stat_of, wait


class Server:
    """One server of a set. What never changes while the set lives, its ports and secrets, is in settings.json."""

    name = ""
    port_names = ["port"]
    stop_signal = signal.SIGTERM
    user = None

    def __init__(self, root):
        self.home = root / self.name
        self.data = self.home / "data"
        self.log = root / f"{self.name}.log"
        self.pid_file = self.home / "pid"
        self.preparing = self.home / "preparing.pid"
        self.prepared = self.home / "prepared"

    # What each of them is

    def missing(self):
        """Why it cannot be started here, or None."""
        raise NotImplementedError

    def install(self):
        raise NotImplementedError

    def prepare(self):
        """Makes its data directory. Called again from the start if it did not get to its end."""

    def configure(self):
        """Writes what depends on the ports."""

    def command(self):
        raise NotImplementedError

    def environment(self):
        """Variables for its process, beside those of this one."""
        return {}

    def is_ready(self):
        raise NotImplementedError

    def variables(self):
        raise NotImplementedError

    # What all of them do

    @property
    def settings(self):
        return json.loads((self.home / "settings.json").read_text())

    @property
    def exists(self):
        return self.prepared.exists()

    def write(self, name, text):
        """A file that only its owner reads, there whole or not at all."""
        path = self.home / name
        draft = path.with_name(name + ".new")
        draft.unlink(missing_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        draft.replace(path)
        return path

    def choose_ports(self, settings):
        settings.update({name: choose_port() for name in self.port_names})
        self.write("settings.json", json.dumps(settings))

    def create(self):
        if self.exists:
            return
        end(self.preparing, signal.SIGKILL)
        self.home.mkdir(exist_ok=True)
        shutil.rmtree(self.data, ignore_errors=True)
        self.choose_ports({"secret": secrets.token_hex(16)})
        self.prepare()
        self.prepared.touch()

    def step(self, *command):
        """A step of preparing, to be found and ended by 'down' should this program die."""
        offset = self.log.stat().st_size if self.log.exists() else 0
        process = spawn(command, self.preparing, self.log, self.home, self.user)
        try:
            wait(lambda: process.poll() is not None, lambda: True, f"'{Path(command[0]).name}' did not end")
        finally:
            end(self.preparing, signal.SIGKILL)
        if process.returncode != 0:
            raise Missing(f"'{Path(command[0]).name}' failed: {last_words(self.said(offset))}")

    def said(self, offset):
        with open(self.log, "rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")

    def said_since_start(self):
        return self.said(int((self.home / "log_start").read_text()))

    def up(self):
        """Creates what is not there, starts what does not run."""
        is_new = not self.exists
        self.create()
        for _ in range(5):
            try:
                return self.start()
            except Missing:
                # Someone else was quicker to take the port. Later it must stay what it is.
                if not is_new or all(is_free(self.settings[name]) for name in self.port_names):
                    raise
                self.choose_ports(self.settings)
        self.start()

    def start(self):
        if recorded(self.pid_file):
            self.signal(signal.SIGCONT)
            wait(self.is_ready, lambda: recorded(self.pid_file), "not ready")
            return
        if not self.exists:
            raise Wrong(f"{self.name} was never up in {self.home.parent}")
        if reason := self.missing():
            raise Missing(reason)
        self.configure()
        self.write("log_start", str(self.log.stat().st_size if self.log.exists() else 0))
        process = spawn(self.command(), self.pid_file, self.log, self.home, self.user, self.environment())
        try:
            wait(self.is_ready, lambda: process.poll() is None, "not ready")
        except Missing as error:
            end(self.pid_file, signal.SIGKILL)
            raise Missing(f"{error}: {last_words(self.said_since_start())} ({self.log})") from error

    def stop(self):
        end(self.preparing, signal.SIGKILL)
        end(self.pid_file, self.stop_signal)

    def kill(self):
        end(self.pid_file, signal.SIGKILL)

    def signal(self, number):
        processes = family(self.pid_file)
        if not processes:
            raise Wrong(f"{self.name} does not run")
        send(processes, number)

    def state(self):
        if not self.exists:
            return "absent"
        leader = recorded(self.pid_file)
        if leader is None:
            return "stopped"
        stat = stat_of(leader[0])
        return "paused" if stat and stat[1] in "Tt" else "running"

    def address(self):
        return f"{ADDRESS}:{self.settings['port']}"

    def forget(self):
        """Removes what the system keeps of it after its end."""
