//! TLS to PostgreSQL, Redis and Kafka, with certificates of an authority of the test's own.

use crate::site::{DELAY, Site, assert_whole, lab};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for this name, and its key.
    fn certificate(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (parameters.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// From now on the server accepts encrypted connections, too. It must own its key file, which nobody else may read.
fn encrypt_postgres(site: &Site, certificate: &str, key: &str) {
    for (file, text) in [("server.crt", certificate), ("server.key", key)] {
        let lines: Vec<String> = text.lines().map(|line| format!("'{line}'")).collect();
        let program = format!("umask 077 && cat > {file}");
        site.sql(&format!("COPY (SELECT unnest(ARRAY[{}])) TO PROGRAM '{program}'", lines.join(",")));
    }
    site.sql("ALTER SYSTEM SET ssl = on");
    site.sql("SELECT pg_reload_conf()");
    site.wait_until("TLS", || site.sql("SHOW ssl") == "on");
}

/// Gives the address of the port that takes encrypted connections only.
fn encrypt_redis(site: &Site, certificate: &str, key: &str) -> String {
    let url = site.redis().to_owned();
    let (password, address) = url.rsplit_once('@').unwrap();
    let (address, _) = address.split_once('/').unwrap();
    site.write("redis.crt", certificate);
    site.write("redis.key", key);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut stream = TcpStream::connect(address).unwrap();
    let commands = format!(
        "AUTH {}\r\nCONFIG SET tls-cert-file {} tls-key-file {} tls-auth-clients no tls-port {port}\r\nQUIT\r\n",
        password.rsplit_once(':').unwrap().1,
        site.path("redis.crt").display(),
        site.path("redis.key").display(),
    );
    stream.write_all(commands.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers, "+OK\r\n+OK\r\n+OK\r\n");
    url.replace("redis://", "rediss://").replace(address, &format!("localhost:{port}"))
}

#[test]
fn encrypted_servers_prove_what_the_settings_ask_for_on_redis() {
    let Some(mut site) = Site::with_own_redis("encrypted") else { return };
    let (ours, other) = (Authority::new(), Authority::new());
    site.write("ours.pem", &ours.0.pem());
    site.write("other.pem", &other.0.pem());
    let plain = site.database.clone();
    let by_name = plain.replace("127.0.0.1", "localhost");
    // In the configuration; this test itself asks as little as it can.
    let with = |site: &mut Site, database: &str| {
        site.database = database.to_owned();
        site.configure("");
        site.database = plain.clone();
    };
    let refused = |site: &mut Site, database: &str, part: &str| {
        with(site, database);
        for words in [&["cluster", "init"][..], &["worker"]] {
            let run = site.run(words);
            assert_eq!(run.code, 1, "{database}: {}{}", run.stdout, run.stderr);
            assert!(run.stderr.contains("storage.metadata_db_url"), "{}", run.stderr);
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
        assert_eq!(site.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    };
    let ask = |mode: &str, file: &str| format!("{by_name}?sslmode={mode}&sslrootcert={file}");

    refused(&mut site, &format!("{plain}?sslmode=require"), "server does not support TLS");
    let (certificate, key) = ours.certificate("localhost");
    encrypt_postgres(&site, &certificate, &key);
    refused(&mut site, &format!("{by_name}?sslmode=verify-full"), "certificate is not trusted");
    refused(&mut site, &ask("verify-ca", "other.pem"), "certificate is not trusted");
    refused(&mut site, &ask("require", "other.pem"), "certificate is not trusted");
    refused(&mut site, &ask("verify-ca", "missing.pem"), "missing.pem");
    let elsewhere = ask("verify-full", "ours.pem").replace("localhost", "127.0.0.1");
    refused(&mut site, &elsewhere, "another host name");

    // Who asks for less gets through, and those who may are encrypted.
    with(&mut site, &plain);
    site.run(&["cluster", "init"]).ok();
    site.write("server.pem", &certificate);
    for (at, (database, is_encrypted)) in [
        (format!("{plain}?connect_timeout=5"), "t"),
        (format!("{plain}?sslmode=disable"), "f"),
        (format!("{plain}?sslmode=require"), "t"),
        (elsewhere.replace("verify-full", "verify-ca"), "t"),
        (ask("verify-full", "ours.pem"), "t"),
        // The server's own certificate, in the place of an authority's.
        (ask("verify-full", "server.pem"), "t"),
    ]
    .into_iter()
    .enumerate()
    {
        with(&mut site, &format!("{database}&application_name=try{at}"));
        let mut worker = site.worker("one");
        let mut found = String::new();
        let sql =
            "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name =";
        site.wait_until("the worker", || {
            found = site.sql(&format!("{sql} 'try{at}'"));
            // It handles signals once it has printed this.
            !found.is_empty() && worker.said().matches("worker one joins").count() > at
        });
        assert_eq!(found, is_encrypted, "{database}");
        assert_eq!(worker.leave(), 0, "{}", worker.said());
    }

    // Redis is trusted if the system trusts it, or if the environment says so.
    let (certificate, key) = ours.certificate("localhost");
    let redis = encrypt_redis(&site, &certificate, &key);
    site.set_redis(&redis);
    with(&mut site, &ask("verify-full", "ours.pem"));
    let run = site.run(&["worker"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("storage.cache_url: the server's certificate is not trusted"),
        "{}",
        run.stderr
    );
    let authorities = site.path("ours.pem").display().to_string();
    site.environment.push((String::from("SSL_CERT_FILE"), authorities));
    let lab = lab(4, 5, 0);
    let _worker = site.worker("one");
    site.submit(&lab, &[]);
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    site.wait_until("live figures", || site.status()["live"]["one"]["memory_bytes"].as_u64() > Some(0));
}

#[test]
fn brokers_that_ask_for_tls_and_a_password_get_them_on_kafka() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, other) = (Authority::new(), Authority::new());
    let (certificate, key) = ours.certificate("localhost");
    let pem = directory.path().join("broker.pem");
    std::fs::write(&pem, format!("{key}{certificate}")).unwrap();
    let Some((site, brokers, password)) = Site::with_secure_kafka("secure", &pem) else { return };
    site.write("ours.pem", &ours.0.pem());
    site.write("other.pem", &other.0.pem());
    let settings = |authority: &str, password: &str| {
        format!(
            "  kafka_security_protocol: SASL_SSL\n  kafka_ssl_ca: {authority}\n  kafka_sasl_username: argiope\n  \
             kafka_sasl_password: \"{password}\"\n"
        )
    };
    for (settings, named, part) in [
        (settings("other.pem", &password), "cluster.kafka_brokers", "certificate is not trusted"),
        (settings("missing.pem", &password), "cluster.kafka_ssl_ca", "missing.pem"),
        (settings("ours.pem", "not-this-one"), "cluster.kafka_sasl_username", "refuses the login"),
        (String::new(), "cluster.kafka_brokers", &brokers),
    ] {
        site.configure(&settings);
        let run = site.run(&["cluster", "init"]);
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(named) && run.stderr.contains(part), "{part}: {}", run.stderr);
        assert!(!run.stderr.contains("not-this-one"), "{}", run.stderr);
        assert_eq!(site.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    }
    site.configure(&settings("ours.pem", &password));
    site.run(&["cluster", "init"]).ok();
    let shown = site.run(&["config", "show"]).stdout;
    assert!(!shown.contains(&password), "{shown}");
    let lab = lab(4, 5, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &[]);
    site.wait_for_end();
    assert_whole(&site, &lab, DELAY);
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert_eq!(site.status()["unpublished"], 0, "results have gone the same way");
}
