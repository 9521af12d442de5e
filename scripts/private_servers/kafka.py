"""Apache Kafka, one node that is broker and controller (KRaft), from its Maven artifacts on the machine's Java."""

import base64
import os
import shutil
import uuid

from .installing import CACHE, apt, numbers_in, output_of, run
from .problems import Missing
from .processes import ADDRESS
from .server import Server

KAFKA_VERSION = "4.1.1"
# Kafka's own interface for logging; the version that its artifacts ask for.
SLF4J_VERSION = "1.7.36"
DEPENDENCY_PLUGIN_VERSION = "3.8.1"
OLDEST_JAVA = 17
SCRAM_MECHANISMS = ["SCRAM-SHA-256", "SCRAM-SHA-512"]


class Kafka(Server):
    name = "kafka"
    port_names = ["port", "controller_port", "secure_port"]
    jars = CACHE / f"kafka-{KAFKA_VERSION}"

    artifacts = [
        ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
        # The programs for topics, groups and records, for tests and for use by hand.
        ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
        ("org.slf4j", "slf4j-simple", SLF4J_VERSION),
    ]

    @staticmethod
    def java():
        """A Java that is new enough, or None."""
        homes = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
        for program in [*(f"{home}/bin/java" for home in homes), "java"]:
            version = numbers_in(output_of(program, "-version"), r'version "(\d+)')
            if version[0] >= OLDEST_JAVA:
                return program
        return None

    def missing(self):
        if not self.java():
            return f"no Java {OLDEST_JAVA} or newer"
        return None if self.jars.is_dir() else f"the artifacts of Kafka {KAFKA_VERSION} are not in {CACHE}"

    def install(self):
        if not self.java():
            apt("default-jre-headless")
            if not self.java():
                raise Missing(f"the distribution's Java is older than {OLDEST_JAVA}")
        if not shutil.which("mvn"):
            apt("maven")
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
            for group, name, version in self.artifacts
        )
        draft = CACHE / f"kafka-{KAFKA_VERSION}.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        (draft / "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>argiope</groupId><artifactId>servers</artifactId>"
            f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
        )
        plugin = f"org.apache.maven.plugins:maven-dependency-plugin:{DEPENDENCY_PLUGIN_VERSION}:copy-dependencies"
        run(["mvn", "-B", "-q", "-f", draft / "pom.xml", plugin, f"-DoutputDirectory={draft}", "-DincludeScope=runtime"])
        draft.rename(self.jars)

    def program(self, main, *arguments):
        return [self.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError",
                "-Djava.awt.headless=true", "-cp", f"{self.jars}/*", main, *arguments]

    def prepare(self):
        self.configure()
        cluster = "-"
        while cluster.startswith("-"):
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        scram = [part for mechanism in SCRAM_MECHANISMS
                 for part in ["--add-scram", f'{mechanism}=[name=argiope,password={self.settings["secret"]}]']]
        self.step(*self.program("kafka.tools.StorageTool", "format", "-t", cluster, "-c", self.home / "kafka.properties",
                                *scram))

    def configure(self):
        settings = self.settings
        listeners = [f"PLAINTEXT://{ADDRESS}:{settings['port']}"]
        secure = self.secure_listener(settings)
        if secure:
            listeners.append(f"SECURE://localhost:{settings['secure_port']}")
        self.write("kafka.properties", "\n".join([
            "process.roles=broker,controller",
            "node.id=1",
            f"listeners={','.join([*listeners, f'CONTROLLER://{ADDRESS}:' + str(settings['controller_port'])])}",
            f"advertised.listeners={','.join(listeners)}",
            *secure,
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=1@{ADDRESS}:{settings['controller_port']}",
            f"log.dirs={self.data}",
            # A topic that nobody created is a mistake.
            "auto.create.topics.enable=false",
            "offsets.topic.replication.factor=1",
            "offsets.topic.num.partitions=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=1",
            "share.coordinator.state.topic.replication.factor=1",
            "share.coordinator.state.topic.min.isr=1",
            "group.initial.rebalance.delay.ms=0",
            # A large cache for deduplication while it cleans logs; the heap is small.
            "log.cleaner.dedupe.buffer.size=16777216",
            "",
        ]))

    @staticmethod
    def secure_listener(settings):
        """With TLS and a password, where ARGIOPE_KAFKA_PEM names a file with the key and the certificate for localhost."""
        pem = os.environ.get("ARGIOPE_KAFKA_PEM")
        if not pem:
            return []
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return [
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
            f"sasl.enabled.mechanisms={','.join(['PLAIN', *SCRAM_MECHANISMS])}",
            f'listener.name.secure.plain.sasl.jaas.config={plain} required user_argiope="{settings["secret"]}";',
            *(f"listener.name.secure.{mechanism.lower()}.sasl.jaas.config={scram} required;"
              for mechanism in SCRAM_MECHANISMS),
            "listener.name.secure.ssl.keystore.type=PEM",
            f"listener.name.secure.ssl.keystore.location={pem}",
        ]

    def command(self):
        return self.program("kafka.Kafka", self.home / "kafka.properties")

    def is_ready(self):
        return "Kafka Server started" in self.said_since_start()

    def variables(self):
        settings = self.settings
        return {
            "ARGIOPE_TEST_KAFKA": self.address(),
            "ARGIOPE_TEST_KAFKA_JARS": str(self.jars),
            "ARGIOPE_TEST_KAFKA_SECURE": f"localhost:{settings['secure_port']}",
            "ARGIOPE_TEST_KAFKA_PASSWORD": settings["secret"],
        }
