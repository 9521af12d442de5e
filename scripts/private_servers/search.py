"""OpenSearch, one node, from its Maven artifacts on the machine's Java."""

import http.client
import os
import pwd
import shutil
import zipfile

from .installing import CACHE, apt, run
from .kafka import DEPENDENCY_PLUGIN_VERSION, OLDEST_JAVA, Kafka
from .problems import Missing
from .processes import ADDRESS
from .server import Server
from .users import check_reachable, unprivileged

OPENSEARCH_VERSION = "2.19.6"


class Search(Server):
    name = "search"
    port_names = ["port", "transport_port"]
    distribution = CACHE / f"opensearch-{OPENSEARCH_VERSION}"

    def __init__(self, root):
        super().__init__(root)
        self.user = unprivileged("nobody")

    def missing(self):
        if not Kafka.java():
            return f"no Java {OLDEST_JAVA} or newer"
        if os.geteuid() == 0 and self.user is None:
            return "it refuses to run as root, and there is no user 'nobody'"
        return None if self.distribution.is_dir() else f"the artifacts of OpenSearch {OPENSEARCH_VERSION} are not in {CACHE}"

    def install(self):
        if not Kafka.java():
            apt("default-jre-headless")
            if not Kafka.java():
                raise Missing(f"the distribution's Java is older than {OLDEST_JAVA}")
        if not shutil.which("mvn"):
            apt("maven")
        draft = CACHE / f"opensearch-{OPENSEARCH_VERSION}.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        self.get(f"org.opensearch.distribution.integ-test-zip:opensearch:{OPENSEARCH_VERSION}:zip", draft)
        with zipfile.ZipFile(draft / f"opensearch-{OPENSEARCH_VERSION}.zip") as content:
            content.extractall(draft)
        software = draft / f"opensearch-{OPENSEARCH_VERSION}"
        # The distribution for tests lacks the filters of words that the mapping names.
        module = software / "modules" / "analysis-common"
        module.mkdir()
        self.get(f"org.opensearch.plugin:analysis-common:{OPENSEARCH_VERSION}", module)
        (module / "plugin-descriptor.properties").write_text("\n".join([
            "name=analysis-common",
            "description=Filters of words",
            f"version={OPENSEARCH_VERSION}",
            f"opensearch.version={OPENSEARCH_VERSION}",
            f"java.version={OLDEST_JAVA}",
            "classname=org.opensearch.analysis.common.CommonAnalysisPlugin",
            "",
        ]))
        software.rename(self.distribution)
        shutil.rmtree(draft)

    @staticmethod
    def get(artifact, directory):
        plugin = f"org.apache.maven.plugins:maven-dependency-plugin:{DEPENDENCY_PLUGIN_VERSION}:copy"
        run(["mvn", "-B", "-q", plugin, f"-Dartifact={artifact}", f"-DoutputDirectory={directory}"])

    def prepare(self):
        # Its user may not be able to enter the cache.
        software = self.home / "software"
        shutil.rmtree(software, ignore_errors=True)
        shutil.copytree(self.distribution, software)
        # It makes what it misses, where it may not.
        (software / "extensions").mkdir()
        (self.home / "config").mkdir(exist_ok=True)
        (self.home / "tmp").mkdir(exist_ok=True)
        self.data.mkdir(mode=0o700)
        if self.user:
            self.home.chmod(0o755)
            account = pwd.getpwnam(self.user)
            for path in [self.data, self.home / "config", self.home / "tmp"]:
                os.chown(path, account.pw_uid, account.pw_gid)
            check_reachable(self.home, self.user)

    def configure(self):
        settings = self.settings
        config = self.home / "config"
        (config / "opensearch.yml").write_text("\n".join([
            "cluster.name: argiope-test",
            "discovery.type: single-node",
            f"network.host: {ADDRESS}",
            f"http.port: {settings['port']}",
            f"transport.port: {settings['transport_port']}",
            f"path.data: {self.data}",
            f"path.logs: {self.home / 'tmp'}",
            # A full disk of the machine that tests must not make indexes read-only.
            "cluster.routing.allocation.disk.threshold_enabled: false",
            "",
        ]))
        (config / "log4j2.properties").write_text("\n".join([
            "status = error",
            "appender.console.type = Console",
            "appender.console.name = console",
            "appender.console.layout.type = PatternLayout",
            "appender.console.layout.pattern = %d %p %c: %m%n",
            "rootLogger.level = info",
            "rootLogger.appenderRef.console.ref = console",
            "",
        ]))

    def command(self):
        software = self.home / "software"
        return [Kafka.java(), "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-XX:+ExitOnOutOfMemoryError", "-Djava.security.manager=allow", f"-Djava.io.tmpdir={self.home / 'tmp'}",
                f"-Dopensearch.path.home={software}", f"-Dopensearch.path.conf={self.home / 'config'}",
                "-Dopensearch.distribution.type=zip", "-cp", f"{software}/lib/*", "org.opensearch.bootstrap.OpenSearch"]

    def is_ready(self):
        connection = http.client.HTTPConnection(ADDRESS, self.settings["port"], timeout=5)
        try:
            connection.request("GET", "/_cluster/health")
            answer = connection.getresponse()
            return answer.status == 200 and b'"status":"red"' not in answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def variables(self):
        return {"ARGIOPE_TEST_SEARCH": f"http://{self.address()}"}
