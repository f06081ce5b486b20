//! Telling other processes on the database that there is work, and hearing it from them. A hint: what
//! is lost of it, a worker's look at the queue finds.

use std::fmt::Write;
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use futures_util::StreamExt;
use tokio_postgres::AsyncMessage;

use super::connect::Connector;
use super::rows::execute;
use super::schema::IN_USE;
use crate::causes::on_one_line;
use crate::store::{EndpointNo, Lane, StoreError, WorkSignal};
use crate::supervise::Backoff;

/// Bytes of a notice; the database takes fewer than 8,000.
const NOTICE_MAX: usize = 7_000;

/// Sends notices on a channel.
const SEND: &str = "SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text";

/// What sends notices, in the name of this process.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    /// Notices are for processes that share tables, which is a schema, not a database.
    channel: Arc<str>,
    /// Tells this process's notices from those of others.
    own: u64,
}

impl Notice {
    pub(super) fn new(schema: &str, own: u64) -> Self {
        Self { channel: format!("formsvc.{schema}").into(), own }
    }

    /// Sends a notice, in a transaction with its commit.
    pub(super) async fn send(
        &self,
        db: &impl GenericClient,
        lanes: impl Iterator<Item = (EndpointNo, Lane)>,
    ) -> Result<(), StoreError> {
        let texts = self.texts(lanes);
        if !texts.is_empty() {
            execute(db, SEND, &[&&*self.channel, &texts]).await?;
        }
        Ok(())
    }

    /// What [`SEND`] is to tell of lanes; nothing when there are none.
    fn texts(&self, lanes: impl Iterator<Item = (EndpointNo, Lane)>) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (endpoint, lane) in lanes {
            if texts.last().is_none_or(|text| text.len() > NOTICE_MAX) {
                texts.push(self.own.to_string());
            }
            let text = texts.last_mut().expect("there is one by now");
            write!(text, " {}:{}", endpoint.0, lane as u8).expect("a string takes all");
        }
        texts
    }

    /// The lanes in another process's notice; none in one of our own, or that cannot be read.
    fn lanes(&self, text: &str) -> Vec<(EndpointNo, Lane)> {
        let mut words = text.split(' ');
        if words.next().is_none_or(|sender| sender == self.own.to_string()) {
            return Vec::new();
        }
        words.filter_map(lane_of).collect()
    }
}

fn lane_of(word: &str) -> Option<(EndpointNo, Lane)> {
    let (endpoint, lane) = word.split_once(':')?;
    let lane = Lane::ALL.get(lane.parse::<usize>().ok()?)?;
    Some((EndpointNo(endpoint.parse().ok()?), *lane))
}

/// Hears notices until it is dropped, on a connection of its own.
pub(super) async fn listen(connector: Connector, notice: Notice, work: Arc<WorkSignal>) {
    let mut backoff = Backoff::default();
    loop {
        if let Err(error) = hear(&connector, &notice, &work, &mut backoff).await {
            let cause = on_one_line(&error);
            tracing::warn!(
                cause,
                "notices of work are not heard; the queue is looked at every second"
            );
        }
        backoff.pause().await;
    }
}

/// Hears notices until the connection ends.
async fn hear(
    connector: &Connector,
    notice: &Notice,
    work: &WorkSignal,
    backoff: &mut Backoff,
) -> Result<(), StoreError> {
    let (client, mut messages) = connector.listen().await?;
    let channel = notice.channel.replace('"', "\"\"");
    // For as long as it hears: who copies the database must know that it is used.
    let begin = format!("SELECT pg_try_advisory_lock_shared({IN_USE}); LISTEN \"{channel}\"");
    let listening = async { client.batch_execute(&begin).await };
    let mut listening = std::pin::pin!(listening);
    let mut heard = false;
    loop {
        tokio::select! {
            result = &mut listening, if !heard => {
                result?;
                heard = true;
                backoff.reset();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(told))) => work.announce(notice.lanes(told.payload())),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_read_by_others_and_not_by_its_sender() {
        let (us, them) = (Notice::new("public", 7), Notice::new("public", 8));
        let lanes = [(EndpointNo(3), Lane::Fresh), (EndpointNo(12), Lane::Late)];
        assert_eq!(them.lanes("7 3:0 12:1"), lanes);
        assert_eq!(us.lanes("7 3:0 12:1"), []);
        for junk in ["", "9", "9 x", "9 1:", "9 1:3 :1", "9 1:-1"] {
            assert_eq!(us.lanes(junk), [], "{junk}");
        }
    }
}
