//! Describes certificates that are not trusted: issuer, subject and names, so that the error says what to trust or to fix.

use argiope_model::Millis;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Names from a certificate are cut at this many characters.
const LONGEST_NAME: usize = 80;
/// At most this many names of a certificate are shown.
const MOST_NAMES: usize = 5;

/// The usual verifier. For a certificate from an unknown authority, its error names the issuer.
#[derive(Debug)]
pub(crate) struct NamingVerifier {
    pub(crate) webpki: Arc<WebPkiServerVerifier>,
    /// From `--ca-file`. A server may use one of them as its own certificate.
    pub(crate) given: HashSet<CertificateDer<'static>>,
}

/// The certificate's issuer is not a known authority.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Untrusted {
    /// The issuer that the last certificate of the chain names.
    Issuer(Option<String>),
    /// Self-signed.
    SelfSigned(Option<String>),
    /// A certificate authority's certificate, used as that of a server.
    Authority(Option<String>),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, name) = match self {
            Untrusted::Issuer(Some(issuer)) => {
                write!(f, "the certificate is issued by '{issuer}', which is not trusted")?;
                return f.write_str("; trust its authority with --ca-file FILE");
            }
            Untrusted::Issuer(None) => {
                f.write_str("the certificate is issued by an authority that is not trusted")?;
                return f.write_str("; trust its authority with --ca-file FILE");
            }
            Untrusted::SelfSigned(name) => ("self-signed", name),
            Untrusted::Authority(name) => ("that of an authority itself", name),
        };
        write!(f, "the certificate is {what}")?;
        if let Some(name) = name {
            write!(f, " ('{name}')")?;
        }
        f.write_str(" and not trusted; trust it with --ca-file FILE")
    }
}

impl std::error::Error for Untrusted {}

impl Untrusted {
    fn error(self) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(self))))
    }
}

impl ServerCertVerifier for NamingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let untrusted = match self.webpki.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        ) {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                let last = intermediates.last().unwrap_or(end_entity);
                match Names::of(last) {
                    Some(names) if intermediates.is_empty() && names.are_equal() => {
                        Untrusted::SelfSigned(names.subject())
                    }
                    names => Untrusted::Issuer(names.and_then(|names| names.issuer())),
                }
            }
            // `openssl req -x509` creates the certificate of an authority, and servers use it as their own.
            Err(Error::InvalidCertificate(CertificateError::Other(text))) if is_authority(&text) => {
                match Names::of(end_entity) {
                    Some(names) if names.are_equal() => Untrusted::SelfSigned(names.subject()),
                    names => Untrusted::Authority(names.and_then(|names| names.subject())),
                }
            }
            other => return other,
        };
        if !self.given.contains(end_entity) {
            return Err(untrusted.error());
        }
        // The operator named this very certificate, so it is trusted. webpki checked its validity period before it
        // refused it (a test verifies that). It did not check the purposes of an authority's certificate (extended key
        // usage), nor the issuer's signature of any.
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// The version of a certificate, if known.
const VERSION: u8 = 0xa0;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// Whether webpki refused an authority's certificate that is used as a server's. Its error type is private to it.
fn is_authority(text: &OtherError) -> bool {
    text.to_string().contains("CaUsedAsEndEntity")
}

/// Why a certificate is not valid, in plain words. None if the library's own message is good enough.
pub(crate) fn explain(error: &CertificateError) -> Option<String> {
    let day = |time: &UnixTime| {
        let text = Millis(time.as_secs().saturating_mul(1000)).rfc3339();
        text.get(..16).unwrap_or(&text).replace('T', " ") + " UTC"
    };
    Some(match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("the certificate expired on {}", day(not_after))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("the certificate is valid from {} on, and it is {} here", day(not_before), day(time))
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            match names_in_words(presented) {
                Some(names) => format!("the certificate is for {names}, not for {expected}"),
                None => format!(
                    "the certificate is for no host (it has no subjectAltName), so not for {expected}"
                ),
            }
        }
        CertificateError::Other(OtherError(text)) if text.downcast_ref::<Untrusted>().is_some() => {
            text.to_string()
        }
        _ => return None,
    })
}

/// `a.test, b.test and 127.0.0.2` of `DnsName("a.test")`, `DnsName("b.test")`, `IpAddress(127.0.0.2)`.
fn names_in_words(presented: &[String]) -> Option<String> {
    let bare = |name: &String| {
        let name = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        shown(name.trim_matches('"').as_bytes())
    };
    let mut names: Vec<String> = presented.iter().filter_map(bare).collect();
    if names.len() > MOST_NAMES {
        let more = names.len() - MOST_NAMES;
        names.truncate(MOST_NAMES);
        names.push(format!("{more} more"));
    }
    let last = names.pop()?;
    Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
}

/// The subject and the issuer that a certificate names.
struct Names<'b> {
    issuer: Der<'b>,
    subject: Der<'b>,
}

impl<'b> Names<'b> {
    fn of(certificate: &'b [u8]) -> Option<Names<'b>> {
        let mut certificate = Der(certificate).take(SEQUENCE)?;
        let mut signed = certificate.take(SEQUENCE)?;
        // A certificate of version 1 does not state it.
        let _ = signed.take(VERSION);
        signed.take(INTEGER)?;
        signed.take(SEQUENCE)?;
        let issuer = signed.take(SEQUENCE)?;
        // The validity period is between them.
        signed.take(SEQUENCE)?;
        let subject = signed.take(SEQUENCE)?;
        Some(Names { issuer, subject })
    }

    fn are_equal(&self) -> bool {
        self.issuer.0 == self.subject.0
    }

    fn issuer(&self) -> Option<String> {
        name_in(Der(self.issuer.0))
    }

    fn subject(&self) -> Option<String> {
        name_in(Der(self.subject.0))
    }
}

/// The common name, or else the organization.
fn name_in(mut name: Der<'_>) -> Option<String> {
    let mut organization = None;
    while let Some(mut set) = name.take(SET) {
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

/// Removes control characters: certificates are untrusted input and may be shown on a terminal.
fn shown(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// The contents of a DER element.
struct Der<'b>(&'b [u8]);

impl<'b> Der<'b> {
    /// Takes the next element if it has this tag.
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
    use rcgen::{
        BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, date_time_ymd,
    };

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
        let untrusted = Untrusted::Issuer(Some(String::from("Lab CA")));
        assert_eq!(
            untrusted.to_string(),
            "the certificate is issued by 'Lab CA', which is not trusted; trust its authority with --ca-file FILE"
        );
        let own = Untrusted::SelfSigned(Some(String::from("Lab CA")));
        assert_eq!(
            own.to_string(),
            "the certificate is self-signed ('Lab CA') and not trusted; trust it with --ca-file FILE"
        );
    }

    fn authority(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let names = vec![String::from("good.test"), String::from("127.0.0.2")];
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "Desk");
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    /// The error text for a server with this certificate, if one was given with `--ca-file`.
    fn verified(given: &CertificateDer<'static>, server: &CertificateDer<'static>, name: &str) -> String {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(given.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let verifier = NamingVerifier { webpki, given: HashSet::from([given.clone()]) };
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
        match verifier.verify_server_cert(server, &[], &name, &[], now) {
            Ok(_) => String::from("trusted"),
            Err(Error::InvalidCertificate(error)) => explain(&error).unwrap_or_else(|| format!("{error:?}")),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn a_server_may_have_a_certificate_that_was_given_for_the_names_in_it_and_in_its_time() {
        let given = authority(|_| ());
        assert_eq!(verified(&given, &given, "good.test"), "trusted");
        assert_eq!(verified(&given, &given, "127.0.0.2"), "trusted");
        assert_eq!(
            verified(&given, &given, "bad.test"),
            "the certificate is for good.test and 127.0.0.2, not for bad.test"
        );
        let old = authority(|params| params.not_after = date_time_ymd(2020, 1, 2));
        assert_eq!(verified(&old, &old, "good.test"), "the certificate expired on 2020-01-02 00:00 UTC");
        let early = authority(|params| params.not_before = date_time_ymd(2040, 1, 2));
        assert_eq!(
            verified(&early, &early, "good.test"),
            "the certificate is valid from 2040-01-02 00:00 UTC on, and it is 2027-01-15 08:00 UTC here"
        );
        let nameless = authority(|params| params.subject_alt_names.clear());
        assert_eq!(
            verified(&nameless, &nameless, "good.test"),
            "the certificate is for no host (it has no subjectAltName), so not for good.test"
        );
    }

    #[test]
    fn a_self_signed_certificate_that_was_not_given_is_called_that() {
        let given = authority(|_| ());
        let text = "the certificate is self-signed ('Desk') and not trusted; trust it with --ca-file FILE";
        assert_eq!(verified(&given, &authority(|_| ()), "good.test"), text);
        let other = |params: &mut CertificateParams| {
            params.is_ca = IsCa::NoCa;
            params.distinguished_name.push(DnType::OrganizationName, "Other");
        };
        assert_eq!(verified(&given, &authority(other), "good.test"), text);
    }

    #[test]
    fn a_certificate_that_somebody_else_issued_is_trusted_once_it_was_given() {
        let issuer_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Lab CA");
        let issuer = rcgen::Issuer::new(params, issuer_key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![String::from("good.test")]).unwrap();
        let server = params.signed_by(&key, &issuer).unwrap().der().clone();
        assert_eq!(verified(&server, &server, "good.test"), "trusted");
        assert!(verified(&server, &server, "bad.test").contains("not for bad.test"));
        let text = verified(&authority(|_| ()), &server, "good.test");
        assert!(text.starts_with("the certificate is issued by 'Lab CA', which is not trusted"), "{text}");
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..8).map(|n| format!("DnsName(\"{n}.test\")")).collect();
        let text = "0.test, 1.test, 2.test, 3.test, 4.test and 3 more";
        assert_eq!(names_in_words(&names).as_deref(), Some(text));
    }

    fn issuer_of(certificate: &[u8]) -> Option<String> {
        Names::of(certificate).and_then(|names| names.issuer())
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
