//! Logins over TLS, on servers that ask for them: SCRAM with channel binding, and all SASL mechanisms of Kafka.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod certificates;
mod private_set;

use argiope_cluster::database::{Database, DatabaseErrorKind};
use argiope_cluster::kafka::{Access, Codec, Kafka, Login, Mechanism, Outgoing, Topic, Topics};
use argiope_cluster::server_error::ServerErrorKind;
use argiope_lab::TestServer;
use certificates::Authority;
use private_set::{PrivateSet, eventually};
use std::time::Duration;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

const LIMIT: Duration = Duration::from_secs(30);

fn ask(url: &str, statements: &[String]) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let mut last = None;
        for sql in statements {
            last = last_value(&client, sql).await.or(last);
        }
        connection.abort();
        last
    })
}

async fn last_value(client: &Client, sql: &str) -> Option<String> {
    let messages = client.simple_query(sql).await.unwrap();
    messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
        _ => None,
    })
}

/// From now on the server takes encrypted connections too. It writes its key itself: nobody else may read that.
fn encrypt(url: &str, certificate: &str, key: &str) {
    let mut statements = Vec::new();
    for (file, text) in [("server.crt", certificate), ("server.key", key)] {
        let lines: Vec<String> = text.lines().map(|line| format!("'{line}'")).collect();
        let program = format!("umask 077 && cat > {file}");
        statements.push(format!("COPY (SELECT unnest(ARRAY[{}])) TO PROGRAM '{program}'", lines.join(",")));
    }
    statements.push(String::from("ALTER SYSTEM SET ssl = on"));
    statements.push(String::from("SELECT pg_reload_conf()"));
    ask(url, &statements);
    let show = [String::from("SHOW ssl")];
    eventually("TLS", || (ask(url, &show).as_deref() == Some("on")).then_some(()));
}

#[test]
fn channel_binding_is_kept_where_it_is_required_on_postgres() {
    let Some(set) = PrivateSet::start(TestServer::Postgres) else { return };
    let url = set.address(TestServer::Postgres).to_owned();
    let connect = |words: &str| Database::at(&format!("{url}?{words}")).unwrap().connect(LIMIT);
    let error = connect("channel_binding=require").err().unwrap();
    assert_eq!(error.kind, DatabaseErrorKind::Settings, "{error}");
    assert!(error.to_string().contains("channel_binding=require cannot be kept"), "{error}");

    let (certificate, key) = Authority::new().certificate("localhost");
    encrypt(&url, &certificate, &key);
    // The server checks the hash that the client signs; with another one it refuses the login.
    for words in [
        "channel_binding=require",
        "sslmode=require&channel_binding=require",
        "sslmode=require&channel_binding=disable",
        "sslmode=require",
        "sslmode=disable",
    ] {
        connect(words).unwrap_or_else(|error| panic!("{words}: {error}"));
    }
}

#[test]
fn every_mechanism_logs_in_and_a_wrong_password_does_not_on_kafka() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let (certificate, key) = authority.certificate("localhost");
    let (broker, trusted) = (directory.path().join("broker.pem"), directory.path().join("ours.pem"));
    std::fs::write(&broker, format!("{key}{certificate}")).unwrap();
    std::fs::write(&trusted, authority.pem()).unwrap();
    let environment = vec![("ARGIOPE_KAFKA_PEM", broker)];
    let Some(set) = PrivateSet::start_with(TestServer::Kafka, environment) else { return };
    let brokers = set.variables["ARGIOPE_TEST_KAFKA_SECURE"].clone();
    let password = set.variables["ARGIOPE_TEST_KAFKA_PASSWORD"].clone();
    let client = |mechanism, username: &str, password: &str| {
        let login = Login { mechanism, username: username.into(), password: password.into() };
        Kafka::new(Access::from(&brokers).with_login(Some(login)).encrypted(Some(&trusted)).unwrap()).unwrap()
    };
    let topics = Topics { prefix: String::new(), shards: 3 };
    let topic = topics.name(Topic::UrlScheduled);
    let mechanisms = [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512];
    for (partition, mechanism) in (0..).zip(mechanisms) {
        let mut kafka = client(mechanism, "argiope", &password);
        topics.init(&mut kafka).unwrap();
        kafka.write(&topic, &[Outgoing { partition, key: None, value: b"x" }]).unwrap();
        assert_eq!(kafka.read(&topic, partition, 0, 100).unwrap(), [(0, b"x".to_vec())], "{mechanism:?}");
        for (username, password) in [("argiope", "not-this-one"), ("nobody", password.as_str())] {
            let error = client(mechanism, username, password).partitions(&topic).unwrap_err();
            assert_eq!(error.kind, ServerErrorKind::AccessDenied, "{mechanism:?}: {error}");
            assert!(!error.to_string().contains(password), "{error}");
        }
    }
    // A client without a login is not let in.
    let mut kafka = Kafka::new(Access::from(&brokers).encrypted(Some(&trusted)).unwrap()).unwrap();
    kafka.partitions(&topic).unwrap_err();
}

#[test]
fn batches_of_all_codecs_are_stored_and_read_on_kafka() {
    let Some(brokers) = TestServer::Kafka.address() else { return };
    let topics = Topics { prefix: format!("{}-", private_set::unique("codecs")), shards: 1 };
    let topic = topics.name(Topic::UrlScheduled);
    topics.init(&mut Kafka::new(&brokers).unwrap()).unwrap();
    let mut expected = Vec::new();
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut kafka = Kafka::new(Access::from(&brokers).with_codec(codec)).unwrap();
        // Long enough to be compressed. The broker unpacks it, and refuses what it cannot.
        let value = format!("{codec:?} ").repeat(30_000).into_bytes();
        kafka.write(&topic, &[Outgoing { partition: 0, key: None, value: &value }]).unwrap();
        expected.push((expected.len() as i64, value));
    }
    let mut kafka = Kafka::new(&brokers).unwrap();
    assert_eq!(kafka.read(&topic, 0, 0, usize::MAX >> 32).unwrap(), expected);
}
