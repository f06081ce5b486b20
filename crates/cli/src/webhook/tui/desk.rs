//! What is done for the interface elsewhere: reading the store, sending, explaining. What came of it comes
//! back as input.

use std::sync::Arc;

use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, watch};
use tokio::task::AbortHandle;
use url::Url;

use super::detail::Loaded;
use super::doc::Doc;
use super::model::{Found, Input};
use super::replay::{Replayed, Sending, Silence, copied_to};
use super::row::Row;
use crate::output::Look;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::explanation::{Explained, explanation};
use crate::webhook::replay::{Replay, as_it_came, now};
use crate::webhook::secrets::Secrets;
use crate::webhook::store::{Captures, Query, StoreError};
use crate::webhook::target::is_bare;
use crate::webhook::{attempts, changes, mask, message};

/// Rows that are read at once.
const ROWS: usize = 200;

/// What things are done with.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) captures: Captures,
    pub(super) secrets: Secrets,
    /// What sends to the listener and its targets. What it was given for them goes nowhere else.
    pub(super) sender: HttpSender,
    /// What sends to every other address.
    pub(super) plain: HttpSender,
    pub(super) targets: Vec<Url>,
    /// What pauses between attempts are judged by.
    pub(super) schedule: RetrySchedule,
    /// The listener's own address.
    pub(super) address: Option<Url>,
    pub(super) reveal: bool,
    /// Where things are done: connections are shared with whoever else sends, and must not wait for a screen.
    pub(super) runtime: Handle,
    pub(super) told: UnboundedSender<Input>,
    /// Held while a signature is explained, which takes a while and a processor.
    pub(super) explaining: Arc<Mutex<()>>,
}

impl Desk {
    fn tell(&self, input: Input) {
        // Fails only where the interface has ended.
        let _ = self.told.send(input);
    }

    fn failed(&self, error: &StoreError) {
        self.tell(Input::Said(Look::Bad, error.to_string()));
    }

    /// Reads rows of the list, unless that is ended.
    pub(super) fn list(&self, read: u64, query: Query) -> AbortHandle {
        let desk = self.clone();
        let reading = self.runtime.spawn(async move {
            // One more tells whether there are older ones.
            let most = query.limit.unwrap_or(ROWS).min(ROWS);
            let listed = desk.captures.list(Query { limit: Some(most + 1), ..query }).await;
            let found = listed.map(|listed| Found {
                has_more: listed.len() > most,
                rows: listed.iter().take(most).map(Row::from).collect(),
            });
            let found = found.map_err(|error| error.to_string());
            desk.tell(Input::Listed { read, found });
        });
        reading.abort_handle()
    }

    /// Reads whatever is wanted last, one after the other, until nobody wants anything any more.
    pub(super) fn load(&self, mut wanted: watch::Receiver<Option<CaptureNumber>>) {
        let desk = self.clone();
        self.runtime.spawn(async move {
            while wanted.changed().await.is_ok() {
                let number = *wanted.borrow_and_update();
                let Some(number) = number else { continue };
                match desk.loaded(number).await {
                    Ok(Some(loaded)) => desk.tell(Input::Loaded(Box::new(loaded))),
                    Ok(None) => desk.tell(Input::Gone(number)),
                    Err(error) => {
                        desk.tell(Input::Unread { number, why: error.to_string() });
                    }
                }
            }
        });
    }

    async fn loaded(&self, number: CaptureNumber) -> Result<Option<Loaded>, StoreError> {
        let Some(capture) = self.captures.get(number).await? else { return Ok(None) };
        let (answered, attempts_cut) = attempts::answered(&self.captures, &capture).await?;
        let pauses = attempts::pauses(&self.schedule, &answered);
        let attempts = answered.into_iter().map(|answered| answered.listed).zip(pauses).collect();
        let is_shared = self.captures.is_on_disk();
        Ok(Some(Loaded { capture: Arc::new(capture), attempts, attempts_cut, is_shared }))
    }

    /// Finds out why a signature is not right.
    pub(super) fn explain(&self, number: CaptureNumber) {
        let desk = self.clone();
        self.runtime.spawn(async move {
            let doc = desk.explained(number).await;
            desk.tell(Input::Explained { number, doc });
        });
    }

    async fn explained(&self, number: CaptureNumber) -> Option<Doc> {
        let capture = match self.captures.get(number).await {
            Ok(Some(capture)) => capture,
            Ok(None) => {
                self.tell(Input::Gone(number));
                return None;
            }
            Err(error) => {
                self.failed(&error);
                return None;
            }
        };
        let secrets = self.secrets.clone();
        let _alone = self.explaining.lock().await;
        let search = move || explanation(&capture.received, &secrets);
        // Fails only when it panicked, which is told elsewhere.
        let explained = tokio::task::spawn_blocking(search).await.ok()?;
        Some(explained_doc(&explained))
    }

    /// Sends a delivery once more, to each place it goes to.
    pub(super) fn send(&self, sending: &Sending) {
        for to in &sending.to {
            let (desk, sending, to) = (self.clone(), sending.clone(), to.clone());
            self.runtime.spawn(async move { desk.sent(sending, to).await });
        }
    }

    async fn sent(&self, sending: Sending, to: Url) {
        let Sending { capture, number, signature, body, .. } = sending;
        let (shown, edited) = (mask::url(to.as_str(), self.reveal), body.is_some());
        let own = self.targets.iter().chain(&self.address).find_map(|own| led_to(own, &to));
        let (sender, to) = match own {
            Some(own) => (&self.sender, own),
            None => (&self.plain, to),
        };
        let replay = Replay { received: &capture.received, to, body, signature };
        let outgoing = match replay.outgoing(&self.secrets, now()) {
            Ok(outgoing) => outgoing,
            Err(error) => return self.tell(Input::Said(Look::Bad, error.brief())),
        };
        let answer = sender.send(outgoing).await.map_err(Silence::from);
        let at = Timestamp::now();
        let replayed = Replayed { number, at, to: shown, signature, edited, answer };
        self.tell(Input::Replayed(Box::new(replayed)));
    }

    /// Lets somebody change a body in an editor, which has the terminal meanwhile.
    pub(super) fn edit(&self, sending: Sending) {
        let desk = self.clone();
        self.runtime.spawn(async move {
            let before = sending.capture.received.body.clone();
            let edited = changes::edited(before.clone()).await;
            let body = edited.map(|after| (after != before).then_some(after));
            let body = body.map_err(|error| error.brief());
            desk.tell(Input::Edited { sending, body });
        });
    }

    /// Makes a command of a delivery.
    pub(super) fn command(&self, number: CaptureNumber) {
        let desk = self.clone();
        self.runtime.spawn(async move {
            let capture = match desk.captures.get(number).await {
                Ok(Some(capture)) => capture,
                Ok(None) => return desk.tell(Input::Gone(number)),
                Err(error) => return desk.failed(&error),
            };
            let to = copied_to(&capture, desk.address.as_ref());
            let outgoing = as_it_came(&capture.received, to);
            let masked = !desk.reveal && mask::hides_of(&outgoing.headers, outgoing.url.as_str());
            let command = message::curl(&outgoing, desk.reveal);
            desk.tell(Input::Command { number, command, masked });
        });
    }
}

/// The address of a listener or target that this is, as it is told of: without its name and password, and
/// with the path that came where it has none of its own. With what it was given to let in whoever sends.
fn led_to(own: &Url, to: &Url) -> Option<Url> {
    let mut own = own.clone();
    if is_bare(&own) {
        own.set_path(to.path());
        own.set_query(to.query());
    }
    let mut told = own.clone();
    // Every URL with a host takes these.
    let _ = told.set_username("");
    let _ = told.set_password(None);
    (own == *to || told == *to).then_some(own)
}

fn explained_doc(explained: &Explained) -> Doc {
    let mut doc = Doc::default();
    doc.line(&[(Look::Plain, &explained.what)]);
    for found in &explained.found {
        doc.line(&[]);
        doc.line(&[(Look::Heading, found.means)]);
        if let Some(detail) = &found.detail {
            doc.pair("which", detail);
        }
        doc.line(&[(Look::Plain, found.fix)]);
    }
    for clue in &explained.clues {
        doc.line(&[(Look::Plain, clue)]);
    }
    doc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_known_by_what_is_told_of_it_and_by_nothing_else() {
        let url = |text: &str| Url::parse(text).unwrap();
        for (own, to, expected) in [
            ("https://u:p@h/hook", "https://h/hook", Some("https://u:p@h/hook")),
            ("https://u:p@h/", "https://h/came?a=b", Some("https://u:p@h/came?a=b")),
            ("http://h:1/", "http://h:1/", Some("http://h:1/")),
            ("https://h/hook", "https://h/other", None),
            ("https://h/", "https://g/", None),
            ("https://h/", "http://h/", None),
            ("https://h/", "https://x:y@h/", None),
        ] {
            let led = led_to(&url(own), &url(to)).map(String::from);
            assert_eq!(led.as_deref(), expected, "{own} {to}");
        }
    }
}
