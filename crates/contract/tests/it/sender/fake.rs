//! A small sender with the specified behaviour, and one fault.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_contract::send::{EVENT, Outgoing, SIGNATURE, Sender, SenderOptions};
use formsvc_protocol::signature::{SigningSecret, sign};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use serde_json::json;
use url::Url;

use super::SECRET;

/// The pauses after the attempts.
const PAUSES: [u64; 3] = [100, 300, 900];

/// Delivers three submissions, each in a task of its own.
pub(super) fn deliver_submissions(fault: &'static str, url: &Url) {
    let count = if fault == "delivery" { 2 } else { 3 };
    let url = url.clone();
    tokio::spawn(async move {
        let sender = Sender::new(SenderOptions::default()).unwrap();
        for number in 1..=count {
            let sender = Delivery { fault, number, url: url.clone(), sender: sender.clone() };
            // The first attempts arrive in this order; the others overlap.
            let is_done = sender.attempt(0).await;
            tokio::spawn(async move { sender.retry(is_done).await });
        }
    });
}

struct Delivery {
    fault: &'static str,
    number: usize,
    url: Url,
    sender: Sender,
}

impl Delivery {
    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }

    fn pauses(&self) -> Vec<u64> {
        match self.fault {
            "backoff" => vec![900, 300, 100],
            "retries" => Vec::new(),
            "slow-retries" => vec![60_000],
            "ends-after-retries" => [&PAUSES[..], &[200]].concat(),
            _ => PAUSES.to_vec(),
        }
    }

    async fn retry(&self, mut is_done: bool) {
        let repeats_success = self.is("ends-after-2xx") && self.number == 1
            || self.is("retry-succeeds") && self.number == 3;
        for (at, pause) in self.pauses().into_iter().enumerate() {
            if is_done && !repeats_success {
                return;
            }
            // Sleeps because the pause is under test.
            tokio::time::sleep(Duration::from_millis(pause)).await;
            is_done = self.attempt(at + 1).await;
        }
    }

    /// Returns true if the answer is 2xx.
    async fn attempt(&self, at: usize) -> bool {
        let answer = self.sender.send(self.request(at)).await;
        answer.is_ok_and(|answer| answer.status.is_success())
    }

    fn request(&self, at: usize) -> Outgoing {
        let event = if self.is("body-event") { "submission.new" } else { "submission.created" };
        let millis = if self.is("body-time") { "" } else { ".000" };
        let second = if self.is("same-body") { at } else { 0 };
        let mut body = json!({
            "event": event, "submission_id": format!("sub_{}", self.number), "form_id": "frm_1",
            "form_title": "Contact", "data": {"Name": "Ada"},
            "created_at": format!("2026-01-01T00:00:0{second}{millis}Z"),
        });
        if self.is("body-fields") {
            body.as_object_mut().unwrap().remove("form_title");
        }
        let body = body.to_string().into_bytes();
        let signed =
            if self.is("signature-valid") { [&body[..], b"\n"].concat() } else { body.clone() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let t = match self.fault {
            "signature-time" => now - 3600,
            "signature-fresh" => now + 60 * at as u64,
            _ => now,
        };
        let key = SigningSecret::new(&SECRET.into()).unwrap();
        let mut signature = sign([&key], t, &signed);
        if self.is("signature-format") {
            signature = signature.replace(',', ";");
        }
        let event = HeaderValue::from_static("submission.created");
        let mut request = Outgoing::delivery(
            self.url.clone(),
            event,
            HeaderValue::try_from(signature).unwrap(),
            body.into(),
        );
        assert!(request.headers.contains_key(SIGNATURE));
        let other = HeaderValue::from_static("application/json; charset=utf-8");
        match self.fault {
            "delivery-method" => request.method = Method::PUT,
            "delivery-content-type" => drop(request.headers.insert(CONTENT_TYPE, other)),
            "delivery-user-agent" => drop(request.headers.insert(USER_AGENT, other)),
            "delivery-event" => drop(request.headers.remove(EVENT)),
            _ => {}
        }
        request
    }
}
