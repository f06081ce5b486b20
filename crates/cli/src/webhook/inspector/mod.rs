//! The inspector: a page on this machine that shows deliveries as they come, and sends them once more.
//!
//! A request passes the [`gate`], and is then answered by [`routes`]. What comes to the listener reaches
//! the page through a [`feed`] that nobody waits for.

mod args;
mod assets;
mod attempts;
mod detail;
mod explain;
mod feed;
mod gate;
mod list;
mod patient;
mod replay;
mod reply;
mod routes;
mod row;
mod serve;
mod stream;
mod token;

use std::net::Ipv4Addr;
use std::sync::Arc;

use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, broadcast, watch};
use tokio::task::JoinHandle;
use url::Url;

pub(crate) use args::InspectorArgs;

use self::feed::Feed;
use self::token::PageToken;
use super::capture::Capture;
use super::secrets::Secrets;
use super::sender::plain;
use super::store::{Listed, Store};
use crate::error::CliError;
use crate::exit::Exit;

/// What a listener has to be inspected.
pub(crate) struct Inspected {
    pub(crate) store: Store,
    /// Each capture twice: when it came, and when it was answered.
    pub(crate) bus: broadcast::Sender<Arc<Capture>>,
    pub(crate) secrets: Secrets,
    /// What the listener forwards to.
    pub(crate) targets: Vec<Url>,
    /// The listener's own address.
    pub(crate) address: Url,
    /// What the listener forwards with. Its headers and what it trusts are for the targets alone.
    pub(crate) sender: HttpSender,
    /// What the sender's pauses are judged by.
    pub(crate) schedule: RetrySchedule,
    /// Whether signatures are shown.
    pub(crate) reveal: bool,
}

/// A page that is served. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Inspector {
    url: String,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// What requests are answered from.
struct Desk {
    inspected: Inspected,
    /// What sends to addresses that are typed on the page.
    plain: HttpSender,
    token: PageToken,
    port: u16,
    feed: Feed,
    /// Held while a signature is explained.
    explaining: Mutex<()>,
    /// Turns true when the page is to end.
    stop: watch::Receiver<bool>,
}

impl Inspector {
    /// Serves the page, if it is asked for, on the runtime that this is called within.
    pub(crate) fn start(
        args: InspectorArgs,
        inspected: Inspected,
    ) -> Result<Option<Self>, CliError> {
        if !args.ui {
            return Ok(None);
        }
        let listener = bind(args.ui_port)?;
        let port = listener.local_addr().map_err(|error| unbound(args.ui_port, &error))?.port();
        let came = inspected.bus.subscribe();
        let (desk, stop) = desk(inspected, port)?;
        let url = format!("http://127.0.0.1:{port}/{}/", desk.token.expose());
        let serving = tokio::spawn(serve::serve(listener, Arc::new(desk), came));
        Ok(Some(Self { url, stop, serving }))
    }

    /// The address of the page, token included: for whoever started the listener only.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the page: streams end at once, and what is being answered has a second.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        // Fails only when it panicked; it is over then all the same.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What requests at a port are answered from, and what ends the page.
fn desk(inspected: Inspected, port: u16) -> Result<(Desk, watch::Sender<bool>), CliError> {
    let token = PageToken::generate().map_err(|error| {
        CliError::new(Exit::Failed, "the system has no randomness for the inspector page")
            .because(&error)
    })?;
    let plain = plain(&inspected.sender)?;
    let (stop, stopped) = watch::channel(false);
    let (feed, explaining) = (Feed::new(), Mutex::new(()));
    Ok((Desk { inspected, plain, token, port, feed, explaining, stop: stopped }, stop))
}

fn bind(port: u16) -> Result<TcpListener, CliError> {
    let bound = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    bound.map_err(|error| unbound(port, &error))
}

fn unbound(port: u16, error: &std::io::Error) -> CliError {
    let what = format!("the inspector page cannot be served at 127.0.0.1:{port}");
    let error = CliError::new(Exit::LocalIo, what).because(error);
    error.hint("leave `--ui-port` out, and a free port is found")
}

/// Waits until the page is to end.
async fn over(stop: &mut watch::Receiver<bool>) {
    // Fails when the page is gone, which is as much.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Puts what comes to the listener into the feed. Never waits for a browser.
async fn follow(desk: &Desk, mut came: broadcast::Receiver<Arc<Capture>>) {
    loop {
        match came.recv().await {
            Ok(capture) => {
                desk.feed.add(&row::Row::of(Listed::from(&*capture), desk.inspected.reveal));
            }
            Err(broadcast::error::RecvError::Lagged(_)) => desk.feed.lose(),
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}
