//! One connection to one broker: requests and responses, each with a timeout.

use super::SETTING;
use super::access::{Access, Login, Stream};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use crate::tls;
use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::time::Duration;

/// For any request, in addition to the time that the broker is granted.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Readers request far less; a longer response does not belong to one of our requests.
const LONGEST_ANSWER: u32 = 64 << 20;

/// A request with its versions that this program supports.
pub(super) trait Question: Encodable + HeaderVersion {
    const KEY: ApiKey;
    const OLDEST: i16;
    const NEWEST: i16;
    type Answer: Decodable + HeaderVersion;
}

/// Every broker supports the first version of this one.
impl Question for ApiVersionsRequest {
    const KEY: ApiKey = ApiKey::ApiVersions;
    const OLDEST: i16 = 0;
    const NEWEST: i16 = 0;
    type Answer = ApiVersionsResponse;
}

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

pub(super) struct Connection {
    address: String,
    stream: Stream,
    /// The broker's versions, by request.
    spoken: HashMap<i16, (i16, i16)>,
    sent: i32,
}

impl Connection {
    pub(super) fn open(address: &str, access: &Access) -> Result<Connection> {
        let stream = access.connect(address).map_err(|error| away(address, error))?;
        let spoken = HashMap::from([(ApiVersionsRequest::KEY as i16, (0, 0))]);
        let mut connection = Connection { address: address.to_owned(), stream, spoken, sent: 0 };
        let answer = connection.call(&ApiVersionsRequest::default(), ANSWER_LIMIT)?;
        let ranges = answer.api_keys.iter();
        connection.spoken =
            ranges.map(|range| (range.api_key, (range.min_version, range.max_version))).collect();
        if let Some(login) = access.login() {
            connection.log_in(login)?;
        }
        Ok(connection)
    }

    fn log_in(&mut self, login: &Login) -> Result<()> {
        let address = self.address.clone();
        let refused = |error: ResponseError, detail: &str| {
            let message = format!("the broker at {address} refuses the login: {error}{detail}");
            ServerError::new(ServerErrorKind::AccessDenied, "cluster.kafka_sasl_username", message)
        };
        let plain = StrBytes::from_static_str("PLAIN");
        let answer = self.call(&SaslHandshakeRequest::default().with_mechanism(plain), ANSWER_LIMIT)?;
        if let Some(error) = ResponseError::try_from_code(answer.error_code) {
            return Err(refused(error, ""));
        }
        let words = format!("\0{}\0{}", login.username, login.password);
        let request = SaslAuthenticateRequest::default().with_auth_bytes(words.into());
        let answer = self.call(&request, ANSWER_LIMIT)?;
        match ResponseError::try_from_code(answer.error_code) {
            None => Ok(()),
            Some(error) => {
                let detail = answer.error_message.as_ref().map(|text| format!(" ({})", &**text));
                Err(refused(error, &detail.unwrap_or_default()))
            }
        }
    }

    pub(super) fn call<R: Question>(&mut self, request: &R, limit: Duration) -> Result<R::Answer> {
        let version = self.send(request, limit)?;
        self.receive::<R>(version)
    }

    fn version_of<R: Question>(&self) -> Result<i16> {
        let (oldest, newest) = self.spoken.get(&(R::KEY as i16)).copied().unwrap_or((0, -1));
        let version = newest.min(R::NEWEST);
        if version < oldest.max(R::OLDEST) {
            let message = format!(
                "the broker at {} supports versions {oldest} to {newest} of request {}, but {} to {} are needed; \
                 use Kafka 2.4 or later",
                self.address,
                R::KEY as i16,
                R::OLDEST,
                R::NEWEST
            );
            return Err(ServerError::new(ServerErrorKind::Misconfigured, SETTING, message));
        }
        Ok(version)
    }

    /// Gives the version it was sent in, which [`Connection::receive`] needs.
    pub(super) fn send<R: Question>(&mut self, request: &R, limit: Duration) -> Result<i16> {
        let version = self.version_of::<R>()?;
        self.sent = self.sent.wrapping_add(1);
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY as i16)
            .with_request_api_version(version)
            .with_correlation_id(self.sent)
            .with_client_id(Some(StrBytes::from_static_str("argiope")));
        let mut message = BytesMut::with_capacity(256);
        message.extend_from_slice(&[0; 4]);
        let encoded = header
            .encode(&mut message, R::header_version(version))
            .and_then(|()| request.encode(&mut message, version));
        encoded.map_err(|error| garbled(&self.address, "cannot encode a request", error.to_string()))?;
        let length = u32::try_from(message.len() - 4).unwrap_or(u32::MAX);
        if let Some(field) = message.first_chunk_mut::<4>() {
            *field = length.to_be_bytes();
        }
        let sent = self
            .stream
            .set_limit(limit)
            .and_then(|()| self.stream.write_all(&message))
            .and_then(|()| self.stream.flush());
        sent.map_err(|error| away(&self.address, error))?;
        Ok(version)
    }

    /// Responses come in the order of their requests; each is read before the next request.
    pub(super) fn receive<R: Question>(&mut self, version: i16) -> Result<R::Answer> {
        let mut answer = self.read_message().map_err(|error| away(&self.address, error))?;
        let decoded = ResponseHeader::decode(&mut answer, R::Answer::header_version(version))
            .and_then(|header| Ok((header.correlation_id, R::Answer::decode(&mut answer, version)?)));
        match decoded {
            Ok((number, response)) if number == self.sent => Ok(response),
            Ok((number, _)) => {
                let message = format!("response to request {number} instead of {}", self.sent);
                Err(garbled(&self.address, "out of sync", message))
            }
            Err(error) => Err(garbled(&self.address, "not a valid Kafka response", error.to_string())),
        }
    }

    fn read_message(&mut self) -> io::Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > LONGEST_ANSWER {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a response of {length} bytes")));
        }
        // Grows as bytes arrive: the announced length is not trusted.
        let mut message = Vec::new();
        let read = (&mut self.stream).take(u64::from(length)).read_to_end(&mut message)?;
        if read < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Bytes::from(message))
    }
}

fn away(address: &str, error: io::Error) -> ServerError {
    if let Some(refusal) = tls::refusal(&error) {
        let message = format!("the broker at {address}: {refusal} (cluster.kafka_ssl_ca)");
        return ServerError::new(ServerErrorKind::Misconfigured, SETTING, message).with_source(error);
    }
    let message = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("the broker at {address} does not respond")
        }
        io::ErrorKind::UnexpectedEof => format!("the broker at {address} closed the connection"),
        _ => format!("the broker at {address} is unreachable ({error})"),
    };
    ServerError::new(ServerErrorKind::Unavailable, SETTING, message).with_source(error)
}

fn garbled(address: &str, what: &str, detail: String) -> ServerError {
    ServerError::new(
        ServerErrorKind::InvalidResponse,
        SETTING,
        format!("the broker at {address}: {what} ({detail})"),
    )
}
