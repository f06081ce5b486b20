//! How far an attempt has come, for when its deadline ends it.

use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;

use tokio::time::Instant;

macro_rules! phases {
    ($( $variant:ident = $label:literal, $meaning:literal; )+) => {
        /// What an attempt is doing, in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Phase {
            $( #[doc = $meaning] $variant, )+
        }

        impl Phase {
            /// Every phase.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// A stable name.
            pub const fn label(self) -> &'static str {
                match self { $( Self::$variant => $label, )+ }
            }
        }
    };
}

phases! {
    Dns      = "dns",      "Turning the host's name into addresses.";
    Connect  = "connect",  "Connecting.";
    Tls      = "tls",      "Agreeing on encryption, and checking the certificate.";
    Response = "response", "Sending the request, and waiting for the head of the response.";
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) phase: Phase,
    pub(super) peer: Option<SocketAddr>,
}

impl Progress {
    /// That of an attempt which has done nothing yet.
    pub(super) const BEGUN: Self = Self { phase: Phase::Dns, peer: None };
}

/// An attempt under way. The connector finds the one it works for in the task it runs in; one that
/// goes on alone, because another connection became free first, finds none.
pub(super) struct Attempt {
    deadline: Instant,
    progress: Cell<Progress>,
}

tokio::task_local! {
    static CURRENT: Attempt;
}

impl Attempt {
    /// Runs an attempt, during which [`reached`] and [`deadline`] speak of it.
    pub(super) async fn run<T>(deadline: Instant, attempt: impl Future<Output = T>) -> T {
        CURRENT.scope(Self { deadline, progress: Cell::new(Progress::BEGUN) }, attempt).await
    }
}

/// Notes how far the attempt has come.
pub(super) fn reached(phase: Phase, peer: Option<SocketAddr>) {
    // Fails outside of an attempt only, where no caller reads the progress.
    let _ = CURRENT.try_with(|attempt| attempt.progress.set(Progress { phase, peer }));
}

/// How far the attempt has come.
pub(super) fn progress() -> Progress {
    CURRENT.try_with(|attempt| attempt.progress.get()).unwrap_or(Progress::BEGUN)
}

/// When the attempt ends.
pub(super) fn deadline() -> Option<Instant> {
    CURRENT.try_with(|attempt| attempt.deadline).ok()
}
