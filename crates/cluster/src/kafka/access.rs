//! How to connect to brokers: addresses, encryption, login; and the codec of what is written to them.

use super::SETTING;
use super::codecs::Codec;
use super::login::Login;
use crate::server_error::{Result, ServerError, ServerErrorKind};
use crate::tls::{self, Proof};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Cheap to clone. Created from an address alone, it has no TLS and no login, and compresses with zstd.
#[derive(Clone)]
pub struct Access {
    brokers: Arc<str>,
    tls: Option<Arc<ClientConfig>>,
    login: Option<Login>,
    codec: Codec,
}

impl From<&str> for Access {
    fn from(brokers: &str) -> Access {
        Access { brokers: brokers.into(), tls: None, login: None, codec: Codec::default() }
    }
}

impl From<&String> for Access {
    fn from(brokers: &String) -> Access {
        Access::from(brokers.as_str())
    }
}

impl Access {
    /// Brokers prove that they have the requested name, to the authorities in the file or else to the system's.
    pub fn encrypted(mut self, authorities: Option<&Path>) -> Result<Access> {
        let config = tls::config(Proof::Name, authorities).map_err(|error| {
            ServerError::new(ServerErrorKind::Misconfigured, "cluster.kafka_ssl_ca", error.to_string())
        })?;
        self.tls = Some(Arc::new(config));
        Ok(self)
    }

    pub fn with_login(mut self, login: Option<Login>) -> Access {
        self.login = login;
        self
    }

    /// Of the batches that are written; batches of all codecs are read.
    pub fn with_codec(mut self, codec: Codec) -> Access {
        self.codec = codec;
        self
    }

    pub(super) fn codec(&self) -> Codec {
        self.codec
    }

    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// As configured: the first brokers to contact.
    pub(super) fn addresses(&self) -> Result<Vec<String>> {
        let addresses: Vec<String> =
            self.brokers.split(',').map(|address| address.trim().to_owned()).collect();
        for address in &addresses {
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.and_then(|port| port.parse::<u16>().ok()).is_none() {
                let message = format!("'{address}' is not HOST:PORT; separate several with commas");
                return Err(ServerError::new(ServerErrorKind::Misconfigured, SETTING, message));
            }
        }
        Ok(addresses)
    }

    pub(super) fn connect(&self, address: &str) -> io::Result<Stream> {
        let stream = connect(address)?;
        let Some(config) = &self.tls else { return Ok(Stream::Plain(stream)) };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        Ok(Stream::Encrypted(Box::new(StreamOwned::new(connection, stream))))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({})", self.brokers)
    }
}

/// The handshake happens with the first bytes written.
pub(super) enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// The timeout of each wait for the broker.
    pub(super) fn set_limit(&self, limit: Duration) -> io::Result<()> {
        let socket = match self {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => &stream.sock,
        };
        socket.set_read_timeout(Some(limit))?;
        socket.set_write_timeout(Some(limit))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Encrypted(stream) => stream.flush(),
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for place in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, CONNECT_LIMIT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
