//! Hosts whose certificates nobody knows.

use crate::desk::Desk;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

/// Its front page, and the authority that its certificate is from.
fn site() -> (String, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap();
    let certificate = certificate.signed_by(&key, &issuer).unwrap();
    (serve(certificate.der().clone(), &key), issuer.pem())
}

/// As `openssl req -x509` makes them: the certificate of an authority, which the server has as its own.
fn self_signed_site() -> (String, String) {
    let mut params = CertificateParams::new(vec![String::from("127.0.0.1")]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (serve(certificate.der().clone(), &key), certificate.pem())
}

/// The front page of a server with this certificate.
fn serve(certificate: CertificateDer<'static>, key: &KeyPair) -> String {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let Ok(connection) = ServerConnection::new(Arc::clone(&config)) else { return };
            let mut reader = BufReader::new(StreamOwned::new(connection, stream));
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret";
            let stream = reader.get_mut();
            let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    front
}

const ONE_PAGE: [&str; 4] = ["--depth", "0", "--delay", "0"];
const SHORT_WAITS: &str = "politeness:\n  robots: {retry_after: []}\n";

#[test]
fn an_unknown_certificate_is_accepted_with_a_ca_file_or_with_insecure() {
    let (front, authority) = site();
    let seeds = [front.clone()];
    let plain = Desk::new();
    plain.write("argiope.yaml", SHORT_WAITS);
    plain.crawl(&seeds, &ONE_PAGE);
    assert!(plain.pages().iter().all(|page| page["status"].is_null()), "{:?}", plain.pages());

    let trusting = Desk::new();
    trusting.write("ca.pem", &authority);
    trusting.crawl(&seeds, &[&ONE_PAGE[..], &["--ca-file", "ca.pem"]].concat()).ok();
    assert_eq!(trusting.pages()[0]["status"], 200);
    trusting.write("no.pem", "nothing");
    let wrong = trusting.crawl(&seeds, &[&ONE_PAGE[..], &["--ca-file", "no.pem", "--fresh"]].concat());
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("no.pem"), "{}", wrong.stderr);

    let insisting = Desk::new();
    let run = insisting.crawl(&seeds, &[&ONE_PAGE[..], &["--insecure"]].concat()).ok();
    assert!(run.stderr.contains("WARNING: certificates of all hosts are NOT CHECKED"), "{}", run.stderr);
    assert_eq!(insisting.pages()[0]["status"], 200);

    let by_host = Desk::new();
    by_host.write("argiope.yaml", "politeness:\n  domain_overrides:\n    127.0.0.1: {insecure: true}\n");
    let run = by_host.crawl(&seeds, &ONE_PAGE).ok();
    assert!(run.stderr.contains("WARNING: certificates of 127.0.0.1 are NOT CHECKED"), "{}", run.stderr);
    assert_eq!(by_host.pages()[0]["status"], 200);

    let elsewhere = Desk::new();
    elsewhere.write(
        "argiope.yaml",
        &format!("{SHORT_WAITS}  domain_overrides:\n    other.test: {{insecure: true}}\n"),
    );
    elsewhere.crawl(&seeds, &ONE_PAGE);
    assert!(elsewhere.pages().iter().all(|page| page["status"].is_null()), "{:?}", elsewhere.pages());
}

#[test]
fn a_self_signed_certificate_is_called_that_and_trusted_where_its_file_is_named() {
    let (front, certificate) = self_signed_site();
    let desk = Desk::new();
    desk.write("argiope.yaml", SHORT_WAITS);
    let refused = desk.crawl(std::slice::from_ref(&front), &ONE_PAGE);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let told = "tls: the certificate is self-signed ('rcgen self signed cert') and not trusted";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: if you trust that certificate"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--ca-file FILE"), "{}", refused.stderr);

    desk.write("own.pem", &certificate);
    desk.crawl(&[front], &[&ONE_PAGE[..], &["--ca-file", "own.pem", "--fresh"]].concat()).ok();
    assert_eq!(desk.pages()[0]["status"], 200);
}

#[test]
fn inspect_trusts_whom_it_is_told_to() {
    let (front, authority) = site();
    let desk = Desk::new();
    desk.write("ca.pem", &authority);
    let words = ["inspect", "page", front.as_str(), "--allow-private"];
    assert_eq!(desk.run(&words).code, 1);
    assert!(desk.run(&[&words[..], &["--ca-file", "ca.pem"]].concat()).ok().stdout.contains("secret"));
    let insecure = desk.run(&[&words[..], &["--insecure"]].concat()).ok();
    assert!(insecure.stdout.contains("secret") && insecure.stderr.contains("NOT CHECKED"));
}
