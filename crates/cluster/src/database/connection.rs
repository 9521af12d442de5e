//! The requests of a connection within one request of a [`super::Session`]. Statements are prepared once.

use bytes::Bytes;
use futures_util::SinkExt;
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::pin;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, SimpleQueryMessage, Statement};

pub(crate) type Answer<T> = Result<T, Error>;

pub(crate) type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

/// Bytes of a copy that are sent at once.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) struct Connection {
    client: Client,
    statements: RefCell<HashMap<Box<str>, Statement>>,
}

impl Connection {
    pub(super) fn new(client: Client) -> Connection {
        Connection { client, statements: RefCell::default() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    async fn prepared(&self, sql: &str) -> Answer<Statement> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.borrow_mut().insert(sql.into(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(&self, sql: &str, parameters: Parameters<'_>) -> Answer<Vec<Row>> {
        let statement = self.prepared(sql).await?;
        self.client.query(&statement, parameters).await
    }

    /// At most one row.
    pub(crate) async fn query_opt(&self, sql: &str, parameters: Parameters<'_>) -> Answer<Option<Row>> {
        let statement = self.prepared(sql).await?;
        self.client.query_opt(&statement, parameters).await
    }

    /// Exactly one row.
    pub(crate) async fn query_one(&self, sql: &str, parameters: Parameters<'_>) -> Answer<Row> {
        let statement = self.prepared(sql).await?;
        self.client.query_one(&statement, parameters).await
    }

    /// The number of changed rows.
    pub(crate) async fn execute(&self, sql: &str, parameters: Parameters<'_>) -> Answer<u64> {
        let statement = self.prepared(sql).await?;
        self.client.execute(&statement, parameters).await
    }

    /// Statements without parameters, in one message.
    pub(crate) async fn script(&self, script: &str) -> Answer<Vec<SimpleQueryMessage>> {
        self.client.simple_query(script).await
    }

    /// `sql` is a `COPY ... FROM STDIN (FORMAT binary)`.
    pub(crate) async fn copy(&self, sql: &str, rows: Bytes) -> Answer<u64> {
        let statement = self.prepared(sql).await?;
        let mut sink = pin!(self.client.copy_in(&statement).await?);
        let mut rest = rows;
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            sink.send(piece).await?;
        }
        sink.finish().await
    }
}
