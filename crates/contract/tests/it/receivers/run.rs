//! Checks of a receiver, and what they found.

use std::fmt;
use std::time::{Duration, SystemTime};

use formsvc_contract::receiver::{Given, Outcome, Report, Runner};
use formsvc_contract::send::{Sender, SenderOptions};
use url::Url;

/// What every receiver here verifies with.
pub(super) const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What was found of a receiver.
pub(super) struct Findings(Vec<Report>);

impl fmt::Debug for Findings {
    /// What is not as it should be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = self.0.iter().filter(|report| report.outcome != Outcome::Ok);
        let told = wrong.map(|report| (report.check.id, report.outcome, &report.found));
        f.debug_list().entries(told).finish()
    }
}

impl Findings {
    /// Whether every check was made, and none found anything.
    pub(super) fn is_clean(&self) -> bool {
        self.0.len() == formsvc_contract::receiver::CHECKS.len()
            && self.0.iter().all(|report| report.outcome == Outcome::Ok)
    }

    /// The checks that failed.
    pub(super) fn failed(&self) -> Vec<&'static str> {
        let failed = self.0.iter().filter(|report| report.outcome == Outcome::Fail);
        failed.map(|report| report.check.id).collect()
    }
}

/// Makes every check of the receiver at an address.
pub(super) async fn check(url: &Url, limit: Duration) -> Findings {
    let options = SenderOptions { timeout: limit, ..SenderOptions::default() };
    let sender = Sender::new(options).unwrap();
    let secret = SECRET.into();
    let clock = SystemTime::now;
    let given = Given { sender: &sender, url, secret: &secret, limit, clock: &clock, run: "test" };
    let runner = Runner::new(given).unwrap();
    Findings(runner.run(|_| true, |_| {}).await.unwrap())
}
