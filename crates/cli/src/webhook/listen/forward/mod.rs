//! Forwards deliveries to targets, with the same body and headers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use clap::Args;
use formsvc_contract::send::{HttpSender, Outgoing, SendError, SendErrorKind};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::{Host, Url};

use super::happened::{Warning, WarningCode};
use super::route::{Route, route};
use crate::args::duration;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::capture::{Forward, Forwarded, Received, Unanswered};
use crate::webhook::end_to_end::end_to_end;
use crate::webhook::mask;
use crate::webhook::sender::{self, SenderArgs, Timeout, answer_limit};
use crate::webhook::target::{is_here, reached, target};

/// Most of an answer's body that goes back to the sender, in bytes.
const ANSWER_MAX: usize = 1 << 20;
/// Deliveries under way to one target; more wait for it, and for it alone.
const UNDER_WAY_MAX: usize = 128;
/// Of several targets each takes up all but one of so many places for deliveries: one that is silent shuts out
/// no other.
const SPARED: usize = 8;
/// From here on an answer is so late that the service may not wait for it.
const SLOW: Duration = Duration::from_secs(8);

/// Where deliveries go.
#[derive(Debug, Default, Args)]
pub(crate) struct ForwardArgs {
    /// Pass every delivery on to this URL, port of this machine, or host:port/path; can be repeated. One
    /// without a path gets deliveries at the path they came to
    #[arg(long, value_name = "URL", value_parser = target, help_heading = FORWARDING)]
    forward_to: Vec<Url>,
    /// Pass on what a rule says: form_id=frm_1=4242/hook, event=submission.*=URL, path=/a=URL, with && for
    /// several; can be repeated
    #[arg(long, value_name = "EXPR=URL", value_parser = route, help_heading = FORWARDING)]
    route: Vec<Route>,
    /// Time a target has for its answer [default: FORMSVC_TIMEOUT, or else the service's 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = FORWARDING)]
    forward_timeout: Option<Duration>,
    #[command(flatten)]
    requests: SenderArgs,
}

const FORWARDING: &str = "Forwarding";

impl ForwardArgs {
    /// Whether deliveries are passed on.
    pub(crate) fn is_asked_for(&self) -> bool {
        !(self.forward_to.is_empty() && self.route.is_empty())
    }

    /// What passes deliveries on, of which there are so many at once; nothing where they go nowhere.
    pub(crate) fn forwarder(&self, sender: HttpSender, in_flight: usize) -> Option<Forwarder> {
        let everything = self.forward_to.iter().cloned().map(Route::all);
        let routes: Vec<Route> = everything.chain(self.route.iter().cloned()).collect();
        (!routes.is_empty()).then(|| Forwarder::new(sender, routes, in_flight))
    }

    /// Creates the sender of the targets. It is created even without targets, so that invalid network
    /// settings are reported in both cases.
    pub(crate) fn sender(&self, cx: &Context) -> Result<HttpSender, CliError> {
        let routes = self.route.iter().map(|route| &route.to);
        self.forward_to.iter().chain(routes).try_for_each(|to| cx.check_network(to.as_str()))?;
        let timeout = self.forward_timeout.unwrap_or_else(|| answer_limit(cx, Timeout::OfTheRun));
        self.requests.sender(cx, timeout, ANSWER_MAX)
    }
}

/// Passes deliveries on. It is shared by all of them.
#[derive(Debug)]
pub(crate) struct Forwarder {
    sender: HttpSender,
    routes: Vec<Route>,
    /// Each URL once, in the order given.
    targets: Vec<Target>,
}

#[derive(Debug)]
struct Target {
    url: Url,
    places: Arc<Semaphore>,
    /// Its share of all deliveries under way, those that wait for it included.
    share: Semaphore,
    /// What was told of it last.
    told: AtomicU8,
}

/// What was told of a target: bits, since a slow one can become a dead one.
const DOWN: u8 = 1;
const LATE: u8 = 2;
/// With [`DOWN`]: it did answer, with something that is not HTTP.
const GARBLED: u8 = 4;

/// What became of a delivery.
#[derive(Debug, Default)]
pub(crate) struct PassedOn {
    /// In the order of the targets; none where no target takes it.
    pub(crate) forwards: Vec<Forward>,
    /// What whoever runs the listener should know: each thing once, until it changes.
    pub(crate) warnings: Vec<Warning>,
}

impl Forwarder {
    fn new(sender: HttpSender, routes: Vec<Route>, in_flight: usize) -> Self {
        let mut urls: Vec<&Url> = Vec::new();
        for Route { to, .. } in &routes {
            if !urls.contains(&to) {
                urls.push(to);
            }
        }
        let spared = if urls.len() > 1 { (in_flight / SPARED).max(1) } else { 0 };
        let share = in_flight.saturating_sub(spared).max(1);
        let targets = urls.into_iter().map(|url| Target {
            url: url.clone(),
            places: Arc::new(Semaphore::new(UNDER_WAY_MAX)),
            share: Semaphore::new(share),
            told: AtomicU8::new(0),
        });
        let targets = targets.collect();
        Self { sender, routes, targets }
    }

    /// Where deliveries may go, each once.
    pub(crate) fn targets(&self) -> Vec<Url> {
        self.targets.iter().map(|target| target.url.clone()).collect()
    }

    /// What to know before the first delivery. `address` is the listener's own.
    pub(crate) fn warnings(&self, address: SocketAddr) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code, message| warnings.push(Warning { code, message });
        let timeout = self.sender.timeout();
        if timeout > DELIVERY_TIMEOUT {
            warn(
                WarningCode::LongTimeout,
                format!(
                    "targets have {timeout:?} to answer, and the service waits for 10 s alone: it \
                     tries again what takes longer"
                ),
            );
        }
        for url in self.targets.iter().map(|target| &target.url) {
            if is_itself(url, address) {
                let message =
                    format!("{} is this listener: what is passed on comes back", shown(url));
                warn(WarningCode::Loop, message);
            } else if url.scheme() == "http" && !is_here(url) {
                let message = format!("deliveries go to {} without TLS", shown(url));
                warn(WarningCode::PlainHttp, message);
            }
        }
        warnings
    }

    /// Passes a delivery on to every target that takes it, at once.
    pub(crate) async fn forward(&self, received: &Received) -> PassedOn {
        let wanted = self.targets.iter().filter(|target| {
            self.routes.iter().any(|route| route.to == target.url && route.takes(received))
        });
        let mut passed_on = PassedOn::default();
        for (forward, warnings) in join_all(wanted.map(|target| self.to(target, received))).await {
            passed_on.forwards.push(forward);
            passed_on.warnings.extend(warnings);
        }
        passed_on
    }

    async fn to(&self, target: &Target, received: &Received) -> (Forward, Vec<Warning>) {
        let began = Instant::now();
        let to = reached(&target.url, &received.request_target);
        let url = String::from(without_password(to.clone()));
        let Ok(_share) = target.share.try_acquire() else {
            let why = "too many deliveries wait for it to answer already".to_owned();
            let answer = Err(Unanswered { timed_out: false, garbled: false, why });
            return (Forward { url, answer, took: began.elapsed() }, Vec::new());
        };
        let sent = self.send(target, to, received);
        // One time for waiting and sending: the sender waits for both.
        let answer = match tokio::time::timeout(self.sender.timeout(), sent).await {
            Ok(answer) => answer,
            Err(_) => Err(Unanswered {
                timed_out: true,
                garbled: false,
                why: format!(
                    "{UNDER_WAY_MAX} deliveries wait for {} to answer, and this one had no turn",
                    shown(&target.url)
                ),
            }),
        };
        let took = began.elapsed();
        let warnings = target.heard(&answer, took);
        (Forward { url, answer, took }, warnings)
    }

    async fn send(
        &self,
        target: &Target,
        url: Url,
        received: &Received,
    ) -> Result<Forwarded, Unanswered> {
        // Fails only for a closed semaphore, and nobody closes it.
        let _place = target.places.acquire().await;
        let headers = end_to_end(&received.headers);
        let (method, body) = (received.method.clone(), received.body.clone());
        let outgoing = Outgoing { method, url, headers, body };
        let answer = self.sender.send(outgoing).await.map_err(|error| unanswered(&error))?;
        Ok(Forwarded {
            status: answer.status.as_u16(),
            headers: answer.headers,
            body: answer.body,
            truncated: answer.truncated,
        })
    }
}

fn unanswered(error: &SendError) -> Unanswered {
    let hint = sender::hint(error).map_or_else(String::new, |hint| format!("; {hint}"));
    let timed_out = error.kind == SendErrorKind::Timeout;
    let garbled = error.kind == SendErrorKind::BadAnswer;
    Unanswered { timed_out, garbled, why: format!("{error}{hint}") }
}

impl Target {
    /// What an outcome says about the target that was not known.
    fn heard(&self, answer: &Result<Forwarded, Unanswered>, took: Duration) -> Vec<Warning> {
        let mut now = 0;
        if let Err(unanswered) = answer {
            now |= if unanswered.garbled { DOWN | GARBLED } else { DOWN };
        }
        // One that did not answer at all was told as that.
        if answer.is_ok() && took > SLOW {
            now |= LATE;
        }
        let before = self.told.swap(now, Ordering::Relaxed);
        let mut warnings = Vec::new();
        let mut warn = |code, message| warnings.push(Warning { code, message });
        match answer {
            Err(Unanswered { why, .. }) if before & DOWN == 0 => {
                warn(WarningCode::TargetDown, why.clone());
            }
            Ok(_) if before & GARBLED != 0 => {
                warn(WarningCode::TargetUp, format!("{} answers in HTTP again", shown(&self.url)));
            }
            Ok(_) if before & DOWN != 0 => {
                warn(WarningCode::TargetUp, format!("{} answers again", shown(&self.url)));
            }
            _ => {}
        }
        if now & LATE != 0 && before & LATE == 0 {
            let message = format!(
                "{} took {:.1} s to answer: the service gives up at 10 s",
                shown(&self.url),
                took.as_secs_f64()
            );
            warn(WarningCode::TargetSlow, message);
        }
        warnings
    }
}

/// A target in what is told of it.
fn shown(url: &Url) -> String {
    mask::url(url.as_str(), false)
}

fn without_password(mut url: Url) -> Url {
    // Every URL with a host takes these.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Whether a URL leads to an address that is listened on.
fn is_itself(url: &Url, address: SocketAddr) -> bool {
    if url.port_or_known_default() != Some(address.port()) {
        return false;
    }
    match url.host() {
        Some(Host::Ipv4(host)) => address.ip() == host || address.ip().is_unspecified(),
        Some(Host::Ipv6(host)) => {
            address.ip() == host
                || address.ip().is_unspecified()
                || is_here(url) && address.ip().is_loopback()
        }
        _ => is_here(url),
    }
}

#[cfg(test)]
pub(super) mod tests;
