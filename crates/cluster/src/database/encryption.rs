//! The TLS options of the address, with libpq's names and meaning, and how the client makes such a connection.

use crate::tls::{self, Proof};
use percent_encoding::percent_decode_str;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// `sslrootcert=system` requires the system's authorities, which only help with full verification.
const SYSTEM: &str = "system";
/// Announces the protocol to a server that serves several on one port.
const PROTOCOL: &[u8] = b"postgresql";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Encryption {
    mode: Mode,
    authorities: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Encryption {
    /// Extracts the TLS options from an address: the client supports only some of them.
    pub(super) fn split_off(url: &str) -> Result<(String, Encryption), &'static str> {
        let Some((before, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), Encryption::default()));
        };
        let (mut mode, mut authorities, mut rest) = (None, None, Vec::new());
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", word)) => mode = Some(mode_of(word)?),
                Some(("sslrootcert", path)) => {
                    let path = percent_decode_str(path).decode_utf8();
                    authorities = Some(path.map_err(|_| "sslrootcert is not UTF-8")?.into_owned());
                }
                _ => rest.push(pair),
            }
        }
        let is_system = authorities.as_deref() == Some(SYSTEM);
        if is_system && mode.is_some_and(|mode| mode != Mode::VerifyFull) {
            return Err("sslrootcert=system requires sslmode=verify-full");
        }
        let encryption = Encryption {
            mode: mode.unwrap_or(if is_system { Mode::VerifyFull } else { Mode::Prefer }),
            authorities: authorities.filter(|_| !is_system).map(PathBuf::from),
        };
        let separator = if rest.is_empty() { "" } else { "?" };
        Ok((format!("{before}{separator}{}", rest.join("&")), encryption))
    }

    pub(super) fn client_mode(&self) -> SslMode {
        match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        }
    }

    /// Reads the authorities.
    pub(super) fn connector(&self) -> io::Result<Connector> {
        let authorities = self.authorities.as_deref().filter(|_| self.mode != Mode::Disable);
        let proof = match self.mode {
            Mode::VerifyFull => Proof::Name,
            Mode::VerifyCa => Proof::Authority,
            // Naming authorities implies verification.
            Mode::Require | Mode::Prefer if authorities.is_some() => Proof::Authority,
            Mode::Require | Mode::Prefer | Mode::Disable => Proof::Nothing,
        };
        let mut config = tls::config(proof, authorities)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Connector { tls: TlsConnector::from(Arc::new(config)) })
    }
}

fn mode_of(word: &str) -> Result<Mode, &'static str> {
    Ok(match word {
        "disable" => Mode::Disable,
        "prefer" => Mode::Prefer,
        "require" => Mode::Require,
        "verify-ca" => Mode::VerifyCa,
        "verify-full" => Mode::VerifyFull,
        _ => return Err("sslmode must be disable, prefer, require, verify-ca or verify-full"),
    })
}

#[derive(Clone)]
pub(super) struct Connector {
    tls: TlsConnector,
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Named;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Named> {
        Ok(Named { tls: self.tls.clone(), host: host.to_owned() })
    }
}

/// Created for every connection, also for those that will not be encrypted.
pub(super) struct Named {
    tls: TlsConnector,
    host: String,
}

impl TlsConnect<Socket> for Named {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            self.tls.connect(name, stream).await.map(Encrypted)
        })
    }
}

pub(super) struct Encrypted(client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_says_of_tls_is_taken_out_of_it() {
        let split = |url: &str| Encryption::split_off(url);
        let of = |mode, path: Option<&str>| Encryption { mode, authorities: path.map(PathBuf::from) };
        let plain = String::from("postgres://a@b/c");
        assert_eq!(split("postgres://a@b/c"), Ok((plain.clone(), of(Mode::Prefer, None))));
        assert_eq!(
            split("postgres://a@b/c?sslmode=verify-ca&connect_timeout=3&sslrootcert=/x%20y/ca.pem"),
            Ok((format!("{plain}?connect_timeout=3"), of(Mode::VerifyCa, Some("/x y/ca.pem"))))
        );
        assert_eq!(
            split("postgres://a@b/c?sslrootcert=system"),
            Ok((plain.clone(), of(Mode::VerifyFull, None)))
        );
        for wrong in ["sslmode=allow", "sslmode=", "sslmode=require&sslrootcert=system", "sslrootcert=%ff"] {
            assert!(split(&format!("{plain}?{wrong}")).is_err(), "{wrong}");
        }
    }
}
