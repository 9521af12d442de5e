//! The login to a broker, by SASL.

use super::connection::{ANSWER_LIMIT, Connection, Question};
use super::scram::{Hash, Scram};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ApiKey, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use kafka_protocol::protocol::StrBytes;
use ring::rand::{SecureRandom, SystemRandom};

impl Question for SaslHandshakeRequest {
    const KEY: ApiKey = ApiKey::SaslHandshake;
    const OLDEST: i16 = 1;
    const NEWEST: i16 = 1;
    type Answer = SaslHandshakeResponse;
}

impl Question for SaslAuthenticateRequest {
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
    const OLDEST: i16 = 0;
    const NEWEST: i16 = 1;
    type Answer = SaslAuthenticateResponse;
}

#[derive(Clone)]
pub struct Login {
    pub mechanism: Mechanism,
    pub username: String,
    pub password: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mechanism {
    /// Sends the password as it is.
    #[default]
    Plain,
    ScramSha256,
    ScramSha512,
}

impl Mechanism {
    fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl Login {
    /// The first requests of a connection.
    pub(super) fn send(&self, connection: &mut Connection) -> Result<()> {
        let name = self.mechanism.name();
        let handshake = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(name));
        let answer = connection.call(&handshake, ANSWER_LIMIT)?;
        if let Some(error) = ResponseError::try_from_code(answer.error_code) {
            let offered: Vec<&str> = answer.mechanisms.iter().map(|name| &**name).collect();
            let message = format!(
                "the broker at {} refuses {name}: {error} (it offers {})",
                connection.address(),
                offered.join(", ")
            );
            return Err(ServerError::new(
                ServerErrorKind::AccessDenied,
                "cluster.kafka_sasl_mechanism",
                message,
            ));
        }
        match self.mechanism {
            Mechanism::Plain => {
                authenticate(connection, format!("\0{}\0{}", self.username, self.password)).map(|_| ())
            }
            Mechanism::ScramSha256 => self.send_scram(Hash::Sha256, connection),
            Mechanism::ScramSha512 => self.send_scram(Hash::Sha512, connection),
        }
    }

    fn send_scram(&self, hash: Hash, connection: &mut Connection) -> Result<()> {
        let mut random = [0; 24];
        if SystemRandom::new().fill(&mut random).is_err() {
            return Err(refused(connection, "the system gives no random bytes"));
        }
        let scram = Scram::new(hash, &self.username, &self.password, BASE64.encode(random));
        let server_first = authenticate(connection, scram.first_message())?;
        let proven = text(&server_first).and_then(|message| scram.prove(message));
        let (message, proven) = proven.map_err(|reason| refused(connection, reason))?;
        let server_final = authenticate(connection, message)?;
        text(&server_final)
            .and_then(|message| proven.verify(message))
            .map_err(|reason| refused(connection, reason))
    }
}

fn authenticate(connection: &mut Connection, message: String) -> Result<Bytes> {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(message.into());
    let answer = connection.call(&request, ANSWER_LIMIT)?;
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(answer.auth_bytes),
        Some(error) => {
            let detail = answer.error_message.as_ref().map(|text| format!(" ({})", &**text));
            Err(refused(connection, &format!("{error}{}", detail.unwrap_or_default())))
        }
    }
}

fn text(message: &Bytes) -> std::result::Result<&str, &'static str> {
    std::str::from_utf8(message).map_err(|_| "the broker's SCRAM message is not UTF-8")
}

fn refused(connection: &Connection, reason: &str) -> ServerError {
    let message = format!("the broker at {} refuses the login: {reason}", connection.address());
    ServerError::new(ServerErrorKind::AccessDenied, "cluster.kafka_sasl_username", message)
}
