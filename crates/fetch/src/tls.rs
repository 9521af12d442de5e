//! The trusted certificate authorities: the system's, those of the web if the system has none, and those that the operator
//! adds. Loaded once, shared by all threads.

use crate::certificate::NamingVerifier;
use crate::sessions::Sessions;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// PEM files with certificate authorities to trust in addition. A server whose own certificate is in one of
    /// them is trusted for the names of that certificate.
    pub extra_authorities: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("certificate authorities in {}: {reason}", path.display())]
    Authorities { path: PathBuf, reason: String },
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
    #[error("TLS cannot be set up: {0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

/// Trust and session cache. Cloning is cheap.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    /// For hosts whose certificates are not verified.
    pub(crate) unverified: Arc<ClientConfig>,
}

impl Tls {
    pub fn load(options: &TlsOptions) -> Result<Tls, TlsError> {
        let mut roots = system_roots();
        let mut given = HashSet::new();
        for path in &options.extra_authorities {
            add_authorities(&mut roots, &mut given, path)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let webpki =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NamingVerifier { webpki, given }))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.resumption = Resumption::store(Arc::new(Sessions::default()));
        Ok(Tls { config: Arc::new(config), unverified: Arc::new(crate::unverified::config()?) })
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::debug!(%error, "some of the system's certificate authorities cannot be read");
    }
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::debug!("the system has no certificate authorities; using the bundled ones of the web");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

fn add_authorities(
    roots: &mut RootCertStore,
    given: &mut HashSet<CertificateDer<'static>>,
    path: &Path,
) -> Result<(), TlsError> {
    let problem = |reason: String| TlsError::Authorities { path: path.to_owned(), reason };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| problem(error.to_string()))?;
    if certificates.is_empty() {
        return Err(problem(String::from("no certificate in the file")));
    }
    for certificate in certificates {
        roots.add(certificate.clone()).map_err(|error| problem(error.to_string()))?;
        given.insert(certificate);
    }
    Ok(())
}
