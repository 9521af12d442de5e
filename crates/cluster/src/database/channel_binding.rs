//! `tls-server-end-point` (RFC 5929): a hash of the server's certificate that SCRAM signs together with the password, so
//! that whoever sits between client and server with another certificate cannot pass the login on.
//!
//! The hash is that of the certificate's own signature, so a few fields of it are read here. They come from the server:
//! every length is checked, and there is no recursion.

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

/// What the client signs. `None` where the certificate's signature has no hash of its own (Ed25519) or none that is known:
/// then there is no channel binding, as in libpq.
pub(super) fn tls_server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(digest(hash_of_signature(certificate)?, certificate).as_ref().to_vec())
}

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// `[0]`, constructed: the hash among the parameters of RSASSA-PSS.
const PSS_HASH: u8 = 0xa0;

/// 1.2.840.113549.1.1, followed by the number of an RSA signature.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4, followed by that of an ECDSA signature.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
/// 2.16.840.1.101.3.4.2, followed by that of a hash.
const HASH: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { algorithm, parameters }, signature }`
fn hash_of_signature(certificate: &[u8]) -> Option<&'static Algorithm> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, after_content) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(after_content, SEQUENCE)?;
    let (name, parameters) = element(algorithm, OBJECT_IDENTIFIER)?;
    if let Some(number) = name.strip_prefix(RSA) {
        return match number {
            // MD5 and SHA-1 are replaced by SHA-256.
            [4 | 5 | 11] => Some(&SHA256),
            [12] => Some(&SHA384),
            [13] => Some(&SHA512),
            [10] => hash_of_pss(parameters),
            _ => None,
        };
    }
    match name.strip_prefix(ECDSA)? {
        // ECDSA with SHA-1 and SHA-256.
        [1] | [3, 2] => Some(&SHA256),
        [3, 3] => Some(&SHA384),
        [3, 4] => Some(&SHA512),
        _ => None,
    }
}

/// `SEQUENCE { [0] SEQUENCE { hash, ... }, ... }`; SHA-1 where it is left out.
fn hash_of_pss(parameters: &[u8]) -> Option<&'static Algorithm> {
    let (parameters, _) = element(parameters, SEQUENCE)?;
    let Some((hash, _)) = element(parameters, PSS_HASH) else {
        return Some(&SHA256);
    };
    let (hash, _) = element(hash, SEQUENCE)?;
    let (name, _) = element(hash, OBJECT_IDENTIFIER)?;
    match name.strip_prefix(HASH)? {
        [1] => Some(&SHA256),
        [2] => Some(&SHA384),
        [3] => Some(&SHA512),
        _ => None,
    }
}

/// The content of the DER element that `bytes` begin with, and what comes after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        // So many bytes of length follow.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            (digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm};

    fn certificate(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let parameters = CertificateParams::new(vec![String::from("localhost")]).unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (algorithm, hash) in
            [(&rcgen::PKCS_ECDSA_P256_SHA256, &SHA256), (&rcgen::PKCS_ECDSA_P384_SHA384, &SHA384)]
        {
            let certificate = certificate(algorithm);
            let expected = digest(hash, &certificate).as_ref().to_vec();
            assert_eq!(tls_server_end_point(&certificate), Some(expected));
        }
        assert_eq!(tls_server_end_point(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    /// A certificate that has nothing but the name and the parameters of its signature.
    fn signed_with(name: &[u8], parameters: &[u8]) -> Vec<u8> {
        let of = |tag: u8, content: &[u8]| [&[tag, content.len() as u8], content].concat();
        let algorithm = of(SEQUENCE, &[of(OBJECT_IDENTIFIER, name), parameters.to_vec()].concat());
        of(SEQUENCE, &[of(SEQUENCE, b"content"), algorithm].concat())
    }

    #[test]
    fn rsa_signatures_name_their_hash_by_number_or_parameters() {
        let rsa = |number, parameters: &[u8]| {
            hash_of_signature(&signed_with(&[RSA, &[number]].concat(), parameters))
        };
        let null = [5, 0];
        for (number, hash) in [(4, &SHA256), (5, &SHA256), (11, &SHA256), (12, &SHA384), (13, &SHA512)] {
            assert_eq!(rsa(number, &null), Some(hash), "{number}");
        }
        assert_eq!(rsa(99, &null), None);
        assert_eq!(rsa(10, &[0x30, 0]), Some(&SHA256));
        let pss = |number| {
            let mut parameters = vec![0x30, 15, 0xa0, 13, 0x30, 11, 0x06, 9];
            parameters.extend_from_slice(HASH);
            parameters.push(number);
            parameters
        };
        assert_eq!(rsa(10, &pss(2)), Some(&SHA384));
        assert_eq!(rsa(10, &pss(9)), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_hash() {
        let whole = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        for length in 0..whole.len() {
            // The lengths say more than there is.
            assert_eq!(tls_server_end_point(&whole[..length]), None, "{length}");
        }
        for bytes in [&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff][..], &[0x30, 0x80], &[0x30, 0x85, 0, 0, 0, 0, 0]]
        {
            assert_eq!(tls_server_end_point(bytes), None, "{bytes:?}");
        }
    }
}
