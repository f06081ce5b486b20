//! Statements that are transactions of their own.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use deadpool_postgres::Object;
use tokio_postgres::{Error, Row, SimpleQueryMessage};

use super::inbox::Param;
use crate::inbox::{InboxError, InboxErrorKind};

/// Whether no transaction is open. A statement that is its own transaction began when that did; only in the
/// simple protocol, though: in the other the transaction begins with one message and the statement with
/// another.
const IS_ALONE: &str = "SELECT transaction_timestamp() = statement_timestamp()";

/// Runs a statement on a connection that no transaction is open on, and so has what it wrote committed.
///
/// Somebody who shares the pool may have left one open. What is written there would be answered as durable
/// and be rolled back later. Such a connection is closed, with all that was done on it.
pub(super) async fn query_alone(
    client: Object,
    sql: &str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, InboxError> {
    // Both are sent at once, so that it costs no round trip to ask.
    let (asked, rows) = both(client.simple_query(IS_ALONE), client.query_typed(sql, params)).await;
    let _client = judged(client, asked)?;
    Ok(rows?)
}

/// A connection that no transaction is open on, or an error.
pub(super) async fn alone(client: Object) -> Result<Object, InboxError> {
    let asked = client.simple_query(IS_ALONE).await;
    judged(client, asked)
}

fn judged(
    client: Object,
    asked: Result<Vec<SimpleQueryMessage>, Error>,
) -> Result<Object, InboxError> {
    if asked.as_deref().is_ok_and(says_yes) {
        return Ok(client);
    }
    drop(Object::take(client));
    asked?;
    let why = "somebody left a transaction open on a connection of the pool";
    Err(InboxError::with_source(InboxErrorKind::Unavailable, why))
}

fn says_yes(messages: &[SimpleQueryMessage]) -> bool {
    messages
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t")))
}

/// Waits for two answers, having asked for the first first.
async fn both<A, B>(
    first: impl Future<Output = Result<A, Error>>,
    second: impl Future<Output = Result<B, Error>>,
) -> (Result<A, Error>, Result<B, Error>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut one, mut other) = (None, None);
    poll_fn(|context| {
        if one.is_none()
            && let Poll::Ready(answer) = first.as_mut().poll(context)
        {
            one = Some(answer);
        }
        if other.is_none()
            && let Poll::Ready(answer) = second.as_mut().poll(context)
        {
            other = Some(answer);
        }
        match (one.take(), other.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (early, late) => {
                (one, other) = (early, late);
                Poll::Pending
            }
        }
    })
    .await
}
