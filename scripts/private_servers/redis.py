"""Redis, from the distribution's package."""

import json
import shutil
import socket

from .installing import apt
from .problems import Missing
from .processes import ADDRESS, STOP_LIMIT_SECONDS, recorded
from .server import Server


class Redis(Server):
    name = "redis"

    def missing(self):
        return None if shutil.which("redis-server") else "redis-server is not installed"

    def install(self):
        apt("redis-server")

    def prepare(self):
        self.data.mkdir()

    def configure(self):
        self.write("redis.conf", "\n".join([
            f"bind {ADDRESS}",
            f"port {self.settings['port']}",
            f"requirepass {self.settings['secret']}",
            f"dir {json.dumps(str(self.data))}",
            "daemonize no",
            "appendonly yes",
            'save ""',
            "",
        ]))

    def command(self):
        return [shutil.which("redis-server"), self.home / "redis.conf"]

    def is_ready(self):
        return "Ready to accept connections" in self.said_since_start()

    def wipe(self):
        if recorded(self.pid_file) is None:
            shutil.rmtree(self.data)
            self.data.mkdir()
            return
        with socket.create_connection((ADDRESS, self.settings["port"]), timeout=STOP_LIMIT_SECONDS) as connection:
            connection.sendall(f"AUTH {self.settings['secret']}\r\nFLUSHALL\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2 and (part := connection.recv(4096)):
                answer += part
        if answer != b"+OK\r\n+OK\r\n":
            raise Missing(f"redis answered {answer!r}")

    def variables(self):
        return {"ARGIOPE_TEST_REDIS": f"redis://default:{self.settings['secret']}@{self.address()}/0"}
