//! One HTTP/1 connection. The fetch that uses it drives it, and nothing drives it while it is idle: no task, no channel
//! between threads, and dropping it closes it.

use crate::capture::{Capture, Captured};
use crate::connect::Stream;
use crate::error::Failure;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

type Driver = http1::Connection<TokioIo<Captured<Stream>>, Full<Bytes>>;

/// Bounds on what a peer can make the parser hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadLimits {
    pub(crate) bytes: usize,
    pub(crate) fields: usize,
}

pub(crate) struct Http1 {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Does the reading and writing; `None` once it has ended.
    driver: Option<Box<Driver>>,
    capture: Rc<RefCell<Capture>>,
    pub(crate) address: SocketAddr,
}

/// A request without a response head.
pub(crate) struct SendFailure {
    pub(crate) failure: Failure,
    /// No byte of a response had arrived.
    pub(crate) unanswered: bool,
    /// Bytes of the request had been written.
    pub(crate) request_left: bool,
}

impl Http1 {
    pub(crate) async fn open(
        stream: Stream,
        address: SocketAddr,
        limits: HeadLimits,
    ) -> Result<Http1, Failure> {
        let (stream, capture) = Captured::new(stream);
        let mut builder = http1::Builder::new();
        builder
            // Accepts what browsers accept.
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .title_case_headers(true)
            .max_headers(limits.fields)
            .max_header_size(limits.bytes)
            .max_buf_size(limits.bytes.max(MIN_BUFFER));
        let (sender, driver) = builder.handshake(TokioIo::new(stream)).await?;
        Ok(Http1 { sender, driver: Some(Box::new(driver)), capture, address })
    }

    /// Lets the connection read and write what it can.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && Pin::new(driver).poll(cx).is_ready()
        {
            // The response or the body that was waiting for it reports how it ended.
            self.driver = None;
        }
    }

    /// Whether it can take a request now. A peer that closed it while it was idle is noticed here.
    pub(crate) async fn is_usable(&mut self) -> bool {
        poll_fn(|cx| {
            self.drive(cx);
            Poll::Ready(self.driver.is_some() && self.sender.is_ready())
        })
        .await
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendFailure> {
        self.capture.borrow_mut().begin();
        let mut response = pin!(self.sender.send_request(request));
        let driver = &mut self.driver;
        let outcome = poll_fn(|cx| {
            if let Some(running) = driver
                && Pin::new(running).poll(cx).is_ready()
            {
                *driver = None;
            }
            response.as_mut().poll(cx)
        })
        .await;
        outcome.map_err(|error| {
            let capture = self.capture.borrow();
            SendFailure {
                unanswered: !capture.answer_began(),
                request_left: capture.request_left(),
                failure: error.into(),
            }
        })
    }

    pub(crate) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.drive(cx);
        Pin::new(body).poll_frame(cx)
    }

    /// The bytes on the connection.
    pub(crate) fn capture(&self) -> Rc<RefCell<Capture>> {
        self.capture.clone()
    }

    /// Request head and response head of the exchange.
    pub(crate) fn heads(&self) -> (Bytes, Bytes) {
        self.capture.borrow_mut().heads()
    }
}

/// The smallest buffer that the HTTP library accepts.
const MIN_BUFFER: usize = 8 * 1024;
