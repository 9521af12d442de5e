//! SCRAM (RFC 5802, RFC 7677), the client's side: proves that it knows a password without sending it, and checks that the
//! server knows it too.
//!
//! ```text
//! client: n,,n=USER,r=NONCE
//! server: r=NONCE+ITS_OWN,s=SALT,i=ITERATIONS
//! client: c=biws,r=NONCE+ITS_OWN,p=PROOF
//! server: v=SIGNATURE
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{hmac, pbkdf2};
use std::num::NonZeroU32;

/// `n,,` in base64: no channel binding, which Kafka does not have.
const NO_BINDING: &str = "biws";
/// RFC 7677 asks for 4096 at least; fewer make the password easy to guess from a recorded login.
const FEWEST_ITERATIONS: u32 = 4096;
/// Kafka's own limit is 16384. A server must not decide how long a login computes.
const MOST_ITERATIONS: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    fn hmac(self) -> hmac::Algorithm {
        match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    fn digest(self, bytes: &[u8]) -> ring::digest::Digest {
        ring::digest::digest(self.hmac().digest_algorithm(), bytes)
    }
}

/// What is wrong with a message of the server.
pub(super) type Refusal = &'static str;

/// A login of which the first message is made.
pub(super) struct Scram {
    hash: Hash,
    password: Vec<u8>,
    nonce: String,
    /// The first message without the part about channel binding.
    first: String,
}

/// A login of which the last message is made.
pub(super) struct Proven {
    hash: Hash,
    key: Vec<u8>,
    signed: String,
}

impl Scram {
    /// `nonce` is random, and new for each login; it has no comma.
    pub(super) fn new(hash: Hash, username: &str, password: &str, nonce: String) -> Scram {
        let username = username.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={username},r={nonce}");
        Scram { hash, password: password.as_bytes().to_vec(), nonce, first }
    }

    pub(super) fn first_message(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// The last message of the client, in answer to the server's first one.
    pub(super) fn prove(self, server_first: &str) -> Result<(String, Proven), Refusal> {
        let Challenge { nonce, salt, iterations } = challenge(server_first)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the broker's SCRAM message does not continue this login");
        }
        let algorithm = self.hash.hmac();
        let mut salted = vec![0; algorithm.digest_algorithm().output_len()];
        pbkdf2::derive(self.hash.pbkdf2(), iterations, &salt, &self.password, &mut salted);
        let salted = hmac::Key::new(algorithm, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = hmac::Key::new(algorithm, self.hash.digest(client_key.as_ref()).as_ref());
        let without_proof = format!("c={NO_BINDING},r={nonce}");
        let signed = format!("{},{server_first},{without_proof}", self.first);
        let signature = hmac::sign(&stored_key, signed.as_bytes());
        let proof: Vec<u8> =
            client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, mask)| key ^ mask).collect();
        let message = format!("{without_proof},p={}", BASE64.encode(proof));
        let key = hmac::sign(&salted, b"Server Key").as_ref().to_vec();
        Ok((message, Proven { hash: self.hash, key, signed }))
    }
}

impl Proven {
    /// Whether the server knows the password too, by its last message.
    pub(super) fn verify(&self, server_final: &str) -> Result<(), Refusal> {
        let signature = server_final.split(',').find_map(|part| part.strip_prefix("v="));
        let signature = signature.and_then(|text| BASE64.decode(text).ok());
        let key = hmac::Key::new(self.hash.hmac(), &self.key);
        match signature {
            Some(signature) if hmac::verify(&key, self.signed.as_bytes(), &signature).is_ok() => Ok(()),
            _ => Err("the broker does not prove that it knows the password"),
        }
    }
}

struct Challenge<'m> {
    nonce: &'m str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

fn challenge(message: &str) -> Result<Challenge<'_>, Refusal> {
    const MALFORMED: Refusal = "the broker's SCRAM message is malformed";
    let mut parts = message.split(',');
    // An extension that is mandatory (m=) would come first, and none is known here.
    let nonce = parts.next().and_then(|part| part.strip_prefix("r=")).ok_or(MALFORMED)?;
    let salt = parts.next().and_then(|part| part.strip_prefix("s=")).ok_or(MALFORMED)?;
    let iterations = parts.next().and_then(|part| part.strip_prefix("i=")).ok_or(MALFORMED)?;
    let salt = BASE64.decode(salt).map_err(|_| MALFORMED)?;
    let iterations: NonZeroU32 = iterations.parse().map_err(|_| MALFORMED)?;
    if !(FEWEST_ITERATIONS..=MOST_ITERATIONS).contains(&iterations.get()) {
        return Err("the broker's SCRAM iterations are not between 4096 and 1000000");
    }
    Ok(Challenge { nonce, salt, iterations })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_rfc_is_reproduced() {
        let scram = Scram::new(Hash::Sha256, "user", "pencil", String::from("rOprNGfwEbeRWgbNEkqO"));
        assert_eq!(scram.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server_first =
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (message, proven) = scram.prove(server_first).unwrap();
        assert_eq!(
            message,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(proven.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        for wrong in ["v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=", "v=", "e=other-error", ""] {
            assert!(proven.verify(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_escaped() {
        let scram = Scram::new(Hash::Sha512, "a=b,c", "x", String::from("N"));
        assert_eq!(scram.first_message(), "n,,n=a=3Db=2Cc,r=N");
    }

    #[test]
    fn a_server_that_does_not_keep_to_the_exchange_gets_no_proof() {
        for message in [
            "",
            "r=Nx",
            "r=Nx,s=AAAA",
            "r=Nx,s=*,i=4096",
            "r=Nx,s=AAAA,i=0",
            "r=Nx,s=AAAA,i=4095",
            "r=Nx,s=AAAA,i=4000000000",
            "r=Nx,s=AAAA,i=-1",
            // Of another login, or with nothing of the server's own.
            "r=Mx,s=AAAA,i=4096",
            "r=N,s=AAAA,i=4096",
            "m=x,r=Nx,s=AAAA,i=4096",
        ] {
            let scram = Scram::new(Hash::Sha256, "u", "p", String::from("N"));
            assert!(scram.prove(message).is_err(), "{message}");
        }
        let scram = Scram::new(Hash::Sha256, "u", "p", String::from("N"));
        assert!(scram.prove("r=Nx,s=AAAA,i=4096").is_ok());
    }
}
