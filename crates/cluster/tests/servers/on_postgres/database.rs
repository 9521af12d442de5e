//! Connecting, the schema, and what was fixed when the cluster was made.

use super::scratch::{LIMIT, Scratch, new_cluster};
use argiope_cluster::database::{Cluster, Database, DatabaseErrorKind, Expected, TransportKind};
use std::collections::HashSet;
use std::net::TcpListener;
use std::time::Duration;

fn init(database: &Database, shards: u16) -> Result<Cluster, argiope_cluster::database::DatabaseError> {
    Cluster::init(database, &Expected::default(), &new_cluster(shards))
}

fn error_kind(url: &str) -> (DatabaseErrorKind, String) {
    let error = Database::at(url).unwrap().connect(LIMIT).err().expect("it cannot be connected to");
    (error.kind, error.to_string())
}

#[test]
fn a_server_that_is_not_there_is_said_with_the_setting_and_without_the_password() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (kind, text) = error_kind(&format!("postgres://me:hidden@127.0.0.1:{port}/crawl"));
    assert_eq!(kind, DatabaseErrorKind::Unreachable);
    assert!(text.starts_with("storage.metadata_db_url (me@127.0.0.1:"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn a_server_that_hangs_is_one_that_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://me:x@{}/crawl", listener.local_addr().unwrap());
    let error = Database::at(&url).unwrap().connect(Duration::from_millis(300)).err().unwrap();
    assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
}

#[test]
fn a_wrong_password_user_or_database_is_named() {
    let Some(scratch) = Scratch::new() else { return };
    let (kind, text) = error_kind(&scratch.url_as("argiope", "not-this-one"));
    assert_eq!(kind, DatabaseErrorKind::Password);
    assert!(text.contains("password") && !text.contains("not-this-one"), "{text}");
    assert_eq!(error_kind(&scratch.url_as("nobody-knows", "x")).0, DatabaseErrorKind::Password);
    let elsewhere = format!("{}_not", scratch.url());
    let (kind, text) = error_kind(&elsewhere);
    assert_eq!(kind, DatabaseErrorKind::NoDatabase);
    assert!(text.contains("createdb") && !text.contains(&scratch.password()), "{text}");
}

#[test]
fn a_user_without_rights_is_told_so_and_changes_nothing() {
    let Some(scratch) = Scratch::new() else { return };
    let role = format!("reader_{}", std::process::id());
    scratch
        .ask(&format!("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE {role} LOGIN PASSWORD 'x'"));
    let error = init(&Database::at(&scratch.url_as(&role, "x")).unwrap(), 8).err().unwrap();
    scratch.ask(&format!("DROP ROLE {role}"));
    assert_eq!(error.kind, DatabaseErrorKind::Permission, "{error}");
    assert_eq!(scratch.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 0);
}

#[test]
fn many_that_make_the_cluster_at_once_make_one() {
    let Some(scratch) = Scratch::new() else { return };
    let database = scratch.database();
    let ids: HashSet<String> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| init(&database, 16).unwrap().id)).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1);
    let cluster = Cluster::open(&database, &Expected { shards: Some(16), ..Expected::default() }).unwrap();
    assert_eq!((cluster.shards, cluster.fingerprint_key), (16, [7; 16]));
    assert_eq!(cluster.public_suffixes, "com\norg\n");
    assert_eq!(scratch.number("SELECT count(*) FROM shards"), 16);
}

#[test]
fn a_database_without_a_cluster_says_how_to_make_one() {
    let Some(scratch) = Scratch::new() else { return };
    let error = Cluster::open(&scratch.database(), &Expected::default()).err().unwrap();
    assert_eq!(error.kind, DatabaseErrorKind::NoCluster);
    assert!(error.to_string().contains("argiope cluster init"), "{error}");
}

#[test]
fn a_schema_of_another_version_is_refused() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let database = scratch.database();
    scratch.ask("UPDATE argiope_cluster SET schema_version = 99");
    for error in
        [Cluster::open(&database, &Expected::default()).err().unwrap(), init(&database, 8).err().unwrap()]
    {
        assert_eq!(error.kind, DatabaseErrorKind::TooNew);
        assert!(error.to_string().contains("99"), "{error}");
    }
    assert_eq!(scratch.number("SELECT schema_version FROM argiope_cluster"), 99);
    scratch.ask("UPDATE argiope_cluster SET schema_version = 0");
    let error = Cluster::open(&database, &Expected::default()).err().unwrap();
    assert_eq!(error.kind, DatabaseErrorKind::TooOld);
    assert!(error.to_string().contains("argiope cluster init"), "{error}");
}

#[test]
fn another_clusters_settings_are_refused_and_change_nothing() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let database = scratch.database();
    let before = scratch.ask("SELECT * FROM argiope_cluster");
    for (expected, setting) in [
        (Expected { shards: Some(64), ..Expected::default() }, "cluster.shards"),
        (Expected { transport: Some(TransportKind::Kafka), ..Expected::default() }, "cluster.transport"),
        (Expected { name: Some("other".into()), ..Expected::default() }, "cluster.name"),
    ] {
        for error in [
            Cluster::open(&database, &expected).err().unwrap(),
            Cluster::init(&database, &expected, &new_cluster(64)).err().unwrap(),
        ] {
            assert_eq!(error.kind, DatabaseErrorKind::Foreign);
            assert!(error.to_string().contains(setting), "{error}");
        }
    }
    assert_eq!(scratch.ask("SELECT * FROM argiope_cluster"), before);
    assert_eq!(scratch.number("SELECT count(*) FROM shards"), 8);
    let same =
        Expected { name: Some("argiope".into()), shards: Some(8), transport: Some(TransportKind::Postgres) };
    assert!(Cluster::init(&database, &same, &new_cluster(8)).is_ok());
}

#[test]
fn another_programs_tables_are_left_alone() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.ask("CREATE TABLE jobs (theirs TEXT); INSERT INTO jobs VALUES ('kept')");
    let error = init(&scratch.database(), 8).err().unwrap();
    assert_eq!(error.kind, DatabaseErrorKind::Foreign, "{error}");
    assert_eq!(scratch.value("SELECT theirs FROM jobs"), "kept");
    assert_eq!(scratch.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 1);
}

#[test]
fn the_partitions_of_three_months_are_made_with_the_cluster() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let partitions = |table: &str| {
        scratch.number(&format!("SELECT count(*) FROM pg_inherits WHERE inhparent = '{table}'::regclass"))
    };
    assert_eq!((partitions("crawl_metadata"), partitions("fetches")), (3, 3));
    let present = scratch.value("SELECT 'crawl_metadata_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')");
    let indexes =
        format!("SELECT count(*) FROM pg_indexes WHERE tablename = '{present}' AND indexdef LIKE '%gin%'");
    assert_eq!(scratch.number(&indexes), 1, "topics are indexed in each");
}
