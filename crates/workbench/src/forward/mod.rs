//! Forwards deliveries to targets, and relays the response of one target to the sender.

mod relay;
mod route;
mod sender;

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use formsvc_contract::send::{HttpSender, SendError, SendErrorKind};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::{Host, Position, Url};

use crate::delivery::{Delivery, Forward, ForwardError, ForwardErrorKind, TargetResponse};
use crate::http::as_received;
use crate::mask;
use crate::target;
use crate::warning::{Warning, WarningCode};

pub use relay::relay;
pub use route::Route;
pub use sender::{MAX_RESPONSE_BODY, advice, parse_added_header, sender_for_entered_address};

/// Maximum number of requests in flight to one target.
const MAX_REQUESTS: usize = 128;
/// With several targets, one target may have at most 7/8 of the deliveries in flight, so that 1/8 of the listener's
/// limit is reserved for the other targets.
const RESERVED_FRACTION: usize = 8;
/// Response time from which a target is reported as slow.
const SLOW: Duration = Duration::from_secs(8);

/// Forwards deliveries. All connections of a listener share one forwarder.
#[derive(Debug)]
pub struct Forwarder {
    sender: HttpSender,
    routes: Vec<Route>,
    /// Targets in the order of the routes. Routes with the same URL share a target.
    targets: Vec<Target>,
}

#[derive(Debug)]
struct Target {
    url: Url,
    /// Permits of deliveries in flight to this target, including those that wait for a permit of `requests`.
    /// Without a free permit, forwarding fails at once, so a silent target cannot block the other targets.
    deliveries: Semaphore,
    requests: Semaphore,
    health: Mutex<Health>,
}

/// The last known state of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Up,
    Slow,
    Down,
    NotHttp,
}

/// The results of forwarding one delivery.
#[derive(Debug, Default)]
pub struct Forwarded {
    /// The requests to the matching targets, in the order of the targets; empty if no route matches.
    pub forwards: Vec<Forward>,
    /// Index of the forward to relay: the first that failed, or index 0 if all succeeded.
    pub relayed: Option<usize>,
    /// Warnings about targets that stopped responding, responded slowly or respond again.
    pub warnings: Vec<Warning>,
}

impl Forwarder {
    /// Creates a forwarder. `max_in_flight` is the listener's limit of deliveries in flight.
    pub fn new(sender: HttpSender, routes: Vec<Route>, max_in_flight: usize) -> Self {
        let mut urls: Vec<Url> = Vec::new();
        for route in &routes {
            if !urls.contains(route.target()) {
                urls.push(route.target().clone());
            }
        }
        let reserved = if urls.len() > 1 { (max_in_flight / RESERVED_FRACTION).max(1) } else { 0 };
        let share = max_in_flight.saturating_sub(reserved).max(1);
        let targets = urls.into_iter().map(|url| Target {
            url,
            deliveries: Semaphore::new(share),
            requests: Semaphore::new(MAX_REQUESTS),
            health: Mutex::new(Health::Up),
        });
        let targets = targets.collect();
        Self { sender, routes, targets }
    }

    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    pub fn sender(&self) -> &HttpSender {
        &self.sender
    }

    /// Returns the URL of each target, with user name and password.
    pub fn targets(&self) -> impl Iterator<Item = &Url> {
        self.targets.iter().map(|target| &target.url)
    }

    /// Finds the target that a [`Forward`] with this URL was sent to, and returns the URL with the target's user
    /// name and password, which a `Forward` does not contain. Returns `None` if no target has this URL.
    pub fn target_for(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        let request_target = &url[Position::BeforePath..Position::AfterQuery];
        let mut resolved = self.targets().map(|target| target::resolve(target, request_target));
        resolved.find(|resolved| target::without_password(resolved) == url)
    }

    /// Returns warnings about the targets. `own` is the listener's address.
    pub fn warnings(&self, own: SocketAddr) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code, message| warnings.push(Warning { code, message });
        let (timeout, limit) = (self.sender.timeout(), DELIVERY_TIMEOUT);
        if timeout > limit {
            let message = format!(
                "targets have {timeout:?} to respond, but the service gives up and retries after \
                 {limit:?}"
            );
            warn(WarningCode::LongTimeout, message);
        }
        for url in self.targets() {
            let shown = mask::url(url.as_str(), false);
            if is_own_address(url, own) {
                let message = format!("the target {shown} is this listener itself");
                warn(WarningCode::Loop, message);
            } else if url.scheme() == "http" && !target::is_local(url) {
                warn(WarningCode::PlainHttp, format!("deliveries go to {shown} without TLS"));
            }
        }
        warnings
    }

    /// Forwards a delivery to the targets of all matching routes concurrently, and to each target once.
    pub async fn forward(&self, delivery: &Delivery) -> Forwarded {
        let matching: Vec<_> = self.routes.iter().filter(|route| route.matches(delivery)).collect();
        let targets = self
            .targets
            .iter()
            .filter(|target| matching.iter().any(|route| *route.target() == target.url));
        let results = join_all(targets.map(|target| self.forward_to(target, delivery))).await;
        let mut forwarded = Forwarded::default();
        for (forward, warnings) in results {
            forwarded.forwards.push(forward);
            forwarded.warnings.extend(warnings);
        }
        forwarded.relayed = relay::deciding(&forwarded.forwards);
        forwarded
    }

    async fn forward_to(&self, target: &Target, delivery: &Delivery) -> (Forward, Vec<Warning>) {
        let started = Instant::now();
        let to = target::resolve(&target.url, &delivery.summary.request_target);
        let url = String::from(target::without_password(&to));
        let Ok(_permit) = target.deliveries.try_acquire() else {
            let message = "too many deliveries wait for the response of this target".to_owned();
            let error = ForwardError { kind: ForwardErrorKind::Overloaded, message };
            return (Forward { url, result: Err(error), took: started.elapsed() }, Vec::new());
        };
        // The timeout includes the wait for a permit, because the delivery's sender waits for both.
        let timeout = self.sender.timeout();
        let sent = tokio::time::timeout(timeout, self.send(target, to, delivery)).await;
        let result = sent.unwrap_or_else(|_| {
            let message = format!(
                "{} did not respond within {timeout:?}; while {MAX_REQUESTS} deliveries are in flight to it, \
                 others wait",
                target.shown()
            );
            Err(ForwardError { kind: ForwardErrorKind::Timeout, message })
        });
        let took = started.elapsed();
        let warnings = target.record(&result, took);
        (Forward { url, result, took }, warnings)
    }

    async fn send(
        &self,
        target: &Target,
        to: Url,
        delivery: &Delivery,
    ) -> Result<TargetResponse, ForwardError> {
        let _permit = target.requests.acquire().await.expect("the semaphore is never closed");
        let sent = self.sender.send(as_received(delivery, to)).await;
        sent.map(TargetResponse::from).map_err(|error| forward_error(&error))
    }
}

impl Target {
    fn shown(&self) -> String {
        mask::url(self.url.as_str(), false)
    }

    /// Records the result of a request, and returns warnings if the state of the target has changed.
    fn record(
        &self,
        result: &Result<TargetResponse, ForwardError>,
        took: Duration,
    ) -> Vec<Warning> {
        let health = match result {
            Ok(_) if took > SLOW => Health::Slow,
            Ok(_) => Health::Up,
            Err(error) if error.kind == ForwardErrorKind::NotHttp => Health::NotHttp,
            Err(_) => Health::Down,
        };
        let before = {
            let mut last = self.health.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, health)
        };
        let mut warnings = Vec::new();
        if before == health {
            return warnings;
        }
        let mut warn = |code, message| warnings.push(Warning { code, message });
        let shown = self.shown();
        match (result, before) {
            (Err(error), _) => warn(WarningCode::TargetDown, error.message.clone()),
            (Ok(_), Health::Down) => {
                warn(WarningCode::TargetUp, format!("{shown} responds again"));
            }
            (Ok(_), Health::NotHttp) => {
                warn(WarningCode::TargetUp, format!("{shown} responds in HTTP again"));
            }
            (Ok(_), Health::Up | Health::Slow) => {}
        }
        if health == Health::Slow {
            let (secs, limit) = (took.as_secs_f64(), DELIVERY_TIMEOUT.as_secs());
            let message = format!(
                "{shown} took {secs:.1} s to respond; the service gives up after {limit} s"
            );
            warn(WarningCode::TargetSlow, message);
        }
        warnings
    }
}

/// Converts the error of a forward or replay, and adds advice.
pub(crate) fn forward_error(error: &SendError) -> ForwardError {
    let advice = advice(error).map_or_else(String::new, |advice| format!("; {advice}"));
    let kind = match error.kind {
        SendErrorKind::Timeout => ForwardErrorKind::Timeout,
        SendErrorKind::BadAnswer => ForwardErrorKind::NotHttp,
        SendErrorKind::BadUrl
        | SendErrorKind::Dns
        | SendErrorKind::Refused
        | SendErrorKind::Connect
        | SendErrorKind::Proxy
        | SendErrorKind::Untrusted
        | SendErrorKind::Tls
        | SendErrorKind::Closed => ForwardErrorKind::Unreachable,
    };
    ForwardError { kind, message: format!("{error}{advice}") }
}

/// Returns true if the URL leads to `own`, the listener's address.
fn is_own_address(url: &Url, own: SocketAddr) -> bool {
    let ip = own.ip();
    let is_host = match url.host() {
        Some(Host::Ipv4(host)) => ip == host,
        Some(Host::Ipv6(host)) => ip == host,
        _ => false,
    };
    let is_this_machine = target::is_local(url) && (ip.is_loopback() || ip.is_unspecified());
    url.port_or_known_default() == Some(own.port()) && (is_host || is_this_machine)
}

#[cfg(test)]
mod tests;
