//! TLS to the servers: which authorities a setting trusts, and what a refusal means. Loaded once, shared by all
//! connections to a server.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a server has to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing: protects against eavesdropping, but not against an impostor.
    Nothing,
    /// That a trusted authority issued its certificate.
    Authority,
    /// That, and that the certificate is for the requested name.
    Name,
}

/// Trusts those in the file; without one, the system's authorities, or the bundled ones of the web if the system has
/// none.
pub(crate) fn config(proof: Proof, authorities: Option<&Path>) -> io::Result<ClientConfig> {
    let certificates = match authorities {
        Some(path) => certificates_in(path)?,
        None if proof == Proof::Nothing => Vec::new(),
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    if roots.is_empty() && authorities.is_none() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier {
        proof,
        roots,
        named: if authorities.is_some() { certificates } else { Vec::new() },
        algorithms: provider.signature_verification_algorithms,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

fn certificates_in(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let problem = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| problem(error.to_string()))?;
    if certificates.is_empty() {
        return Err(problem(String::from("no certificate in the file")));
    }
    Ok(certificates)
}

#[derive(Debug)]
struct Verifier {
    proof: Proof,
    roots: RootCertStore,
    /// The operator named these certificates, so they are also trusted directly. A server's own certificate is often
    /// its authority.
    named: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.proof == Proof::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        if !self.named.contains(certificate) {
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
        }
        if self.proof == Proof::Name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Why no encrypted connection was possible, unless the network failed: retrying will not help.
pub(crate) fn refusal(error: &io::Error) -> Option<String> {
    let cause = error.get_ref()?.downcast_ref::<Error>()?;
    let Error::InvalidCertificate(wrong) = cause else {
        return Some(format!("cannot set up an encrypted connection: {cause}"));
    };
    Some(match wrong {
        CertificateError::UnknownIssuer => {
            String::from("the server's certificate is not trusted: no known authority issued it")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the server's certificate is for another host name: {wrong}")
        }
        _ => format!("the server's certificate is not trusted: {wrong}"),
    })
}
