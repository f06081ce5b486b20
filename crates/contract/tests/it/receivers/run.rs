//! Runs all checks against a receiver.

use std::fmt;
use std::time::{Duration, SystemTime};

use formsvc_contract::receiver::{RECEIVER_CHECKS, ReceiverOptions, ReceiverReport, Runner};
use formsvc_contract::report::Outcome;
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use url::Url;

/// The signing secret of all receivers.
pub(super) const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The results of all checks.
pub(super) struct Findings(Vec<ReceiverReport>);

impl fmt::Debug for Findings {
    /// Lists the checks that are not ok.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = self.0.iter().filter(|report| report.outcome != Outcome::Passed);
        let entries = wrong.map(|report| (report.check.id, report.outcome, &report.found));
        f.debug_list().entries(entries).finish()
    }
}

impl Findings {
    /// Returns true if all checks were run and are ok.
    pub(super) fn is_clean(&self) -> bool {
        self.0.len() == RECEIVER_CHECKS.len()
            && self.0.iter().all(|report| report.outcome == Outcome::Passed)
    }

    /// Returns the ids of the checks that failed.
    pub(super) fn failed(&self) -> Vec<&'static str> {
        let failed = self.0.iter().filter(|report| report.outcome == Outcome::Failed);
        failed.map(|report| report.check.id).collect()
    }
}

/// Runs all checks of the receiver at a URL.
pub(super) async fn check(url: &Url, timeout: Duration) -> Findings {
    let options = HttpSenderOptions { timeout, ..HttpSenderOptions::default() };
    let sender = HttpSender::new(options).unwrap();
    let secret = SECRET.into();
    let clock = SystemTime::now;
    let (sender, secret, clock) = (&sender, &secret, &clock);
    let options = ReceiverOptions { sender, url, secret, timeout, clock, run_id: "test" };
    let runner = Runner::new(options).unwrap();
    Findings(runner.run(|_| true, |_| {}).await.unwrap())
}
