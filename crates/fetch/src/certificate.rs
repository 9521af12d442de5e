//! Certificates that are not trusted: who issued them, so that whoever reads the error knows what to trust or to mend.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use std::fmt;
use std::sync::Arc;

/// The name of an issuer is shown up to this length, in characters.
const LONGEST_NAME: usize = 80;

/// The usual verifier. Where no known authority stands behind a certificate its error names the issuer.
#[derive(Debug)]
pub(crate) struct NamingVerifier(pub(crate) Arc<WebPkiServerVerifier>);

/// No known authority stands behind the certificate.
#[derive(Debug)]
pub(crate) struct Untrusted {
    /// As the last certificate of the chain names it.
    issuer: Option<String>,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.issuer {
            Some(issuer) => write!(f, "the certificate is issued by '{issuer}', which is not trusted")?,
            None => f.write_str("the certificate is issued by an authority that is not trusted")?,
        }
        f.write_str("; trust its authority with --ca-file FILE")
    }
}

impl std::error::Error for Untrusted {}

impl ServerCertVerifier for NamingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                let issuer = issuer_of(intermediates.last().unwrap_or(end_entity));
                let untrusted = Arc::new(Untrusted { issuer });
                Err(Error::InvalidCertificate(CertificateError::Other(OtherError(untrusted))))
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// The version of a certificate, where it is told.
const VERSION: u8 = 0xa0;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The issuer's common name, or else its organization.
pub(crate) fn issuer_of(certificate: &[u8]) -> Option<String> {
    let mut certificate = Der(certificate).take(SEQUENCE)?;
    let mut signed = certificate.take(SEQUENCE)?;
    // A certificate of the first version does not tell it.
    let _ = signed.take(VERSION);
    signed.take(INTEGER)?;
    signed.take(SEQUENCE)?;
    let mut issuer = signed.take(SEQUENCE)?;
    let mut organization = None;
    while let Some(mut set) = issuer.take(SET) {
        while let Some(mut attribute) = set.take(SEQUENCE) {
            let kind = attribute.take(OBJECT_IDENTIFIER)?;
            let Some((_, value)) = attribute.next() else { continue };
            match kind.0 {
                COMMON_NAME => return shown(value.0),
                ORGANIZATION => organization = shown(value.0),
                _ => {}
            }
        }
    }
    organization
}

/// Control characters of a stranger do not reach a terminal.
fn shown(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// The contents of an element of DER.
struct Der<'b>(&'b [u8]);

impl<'b> Der<'b> {
    /// The next element, if it has this tag; otherwise it stays.
    fn take(&mut self, tag: u8) -> Option<Der<'b>> {
        if self.0.first() != Some(&tag) {
            return None;
        }
        self.next().map(|(_, contents)| contents)
    }

    fn next(&mut self) -> Option<(u8, Der<'b>)> {
        let (&tag, rest) = self.0.split_first()?;
        let (&short, mut rest) = rest.split_first()?;
        let mut length = usize::from(short);
        if short & 0x80 != 0 {
            let (bytes, after) = rest.split_at_checked(usize::from(short & 0x7f))?;
            // Four bytes are far more than a certificate has.
            if bytes.len() > 4 {
                return None;
            }
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, Der(contents)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    fn certificate(names: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::new(vec![String::from("site.test")]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), *name);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_issuer_is_named_by_its_common_name_or_its_organization() {
        let both = [(DnType::OrganizationName, "Example Inc"), (DnType::CommonName, "Example Root R1")];
        assert_eq!(issuer_of(&certificate(&both)).as_deref(), Some("Example Root R1"));
        assert_eq!(issuer_of(&certificate(&both[..1])).as_deref(), Some("Example Inc"));
        assert_eq!(issuer_of(&certificate(&[])), None);
        let hostile = [(DnType::CommonName, "a\u{1b}[31mb")];
        assert_eq!(issuer_of(&certificate(&hostile)).as_deref(), Some("a[31mb"));
    }

    #[test]
    fn the_error_names_issuer_and_option() {
        let untrusted = Untrusted { issuer: Some(String::from("Lab CA")) };
        assert_eq!(
            untrusted.to_string(),
            "the certificate is issued by 'Lab CA', which is not trusted; trust its authority with --ca-file FILE"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            issuer_of(&bytes);
        }

        #[test]
        fn no_damaged_certificate_breaks_it(at in 0usize..400, byte in any::<u8>(), cut in 0usize..400) {
            let mut bytes = certificate(&[(DnType::CommonName, "Lab CA")]);
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut);
            issuer_of(&bytes);
        }
    }
}
