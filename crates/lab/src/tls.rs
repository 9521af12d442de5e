//! The lab over TLS: a certificate from files, tickets for resumed sessions, and a stream that is either plain or not.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{HandshakeKind, ServerConfig, crypto};
use tokio_rustls::server::TlsStream;

/// A certificate for all sites and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How the connection of a request was secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handshake {
    /// With the certificate.
    Full,
    /// With a ticket of an earlier connection.
    Resumed,
}

pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, LabError> {
    let problem = |path: &Path, reason: String| LabError::Certificate { path: path.to_owned(), reason };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| problem(&files.certificate, error.to_string()))?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| problem(&files.key, error.to_string()))?;
    let wrong = |error: tokio_rustls::rustls::Error| problem(&files.certificate, error.to_string());
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(wrong)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Kept by the client alone: the server's own cache would forget the first of many hosts.
    config.ticketer = crypto::ring::Ticketer::new().map_err(wrong)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// `None` for a client that gives up in the handshake.
    pub(crate) async fn open(stream: TcpStream, acceptor: Option<&TlsAcceptor>) -> Option<Stream> {
        match acceptor {
            None => Some(Stream::Plain(stream)),
            Some(acceptor) => Some(Stream::Tls(Box::new(acceptor.accept(stream).await.ok()?))),
        }
    }

    pub(crate) fn handshake(&self) -> Option<Handshake> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => stream.get_ref().1.handshake_kind().map(|kind| match kind {
                HandshakeKind::Resumed => Handshake::Resumed,
                _ => Handshake::Full,
            }),
        }
    }

    pub(crate) fn set_zero_linger(&self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.set_zero_linger(),
            Stream::Tls(stream) => stream.get_ref().0.set_zero_linger(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
