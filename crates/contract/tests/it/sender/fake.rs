//! A small sender with the specified behaviour, and one fault.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_contract::send::{EVENT, HttpSender, HttpSenderOptions, Outgoing, SIGNATURE};
use formsvc_protocol::Timestamp;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use serde_json::json;
use url::Url;

use super::{API_KEY, OTHER_SECRET, SECRET};

/// The pauses after the attempts: in total more than the tolerance of `signature-fresh`.
const PAUSES: [u64; 3] = [200, 800, 2400];

/// Sends a delivery with another secret, one of an old submission, and a request that is no delivery.
pub(super) async fn send_strange_requests(url: &Url) {
    let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
    for fault in ["signature-valid", "old", "stray"] {
        let (url, sender, began) = (url.clone(), sender.clone(), Timestamp::now());
        let delivery = Delivery { fault, number: 9, url, sender, began };
        let mut request = delivery.request(0);
        if fault != "old" {
            request.method = Method::PUT;
            request.headers.remove(EVENT);
        }
        if fault == "stray" {
            request.body = "hello".into();
        }
        assert!(delivery.sender.send(request).await.unwrap().status.is_success());
    }
}

/// Delivers three submissions, each in a task of its own.
pub(super) fn deliver_submissions(fault: &'static str, url: &Url) {
    let count = if fault == "delivery" { 2 } else { 3 };
    let url = url.clone();
    tokio::spawn(async move {
        let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
        for number in 1..=count {
            let (url, sender, began) = (url.clone(), sender.clone(), Timestamp::now());
            let sender = Delivery { fault, number, url, sender, began };
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
    sender: HttpSender,
    began: Timestamp,
}

impl Delivery {
    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }

    fn pauses(&self) -> Vec<u64> {
        match self.fault {
            "backoff" => vec![2400, 800, 200],
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
        let later = if self.is("same-body") { at as i128 } else { 0 };
        let age = if self.is("old") { 3600 } else { 0 };
        let created = self.began.unix_nanos() / 1_000_000 + later - 1000 * age;
        let created = Timestamp::from_unix_nanos(created * 1_000_000).unwrap().to_string();
        let created = if self.is("body-time") { format!("{}Z", &created[..19]) } else { created };
        let mut body = json!({
            "event": event, "submission_id": format!("sub_{}", self.number), "form_id": "frm_1",
            "form_title": "Contact", "data": {"Name": "Ada"},
            "created_at": created,
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
            "signature-fresh" => u64::try_from(self.began.unix_micros()).unwrap() / 1_000_000,
            _ => now,
        };
        let key = SigningSecret::new(SECRET).unwrap();
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
            "sends-secrets" => {
                let secrets = format!("{SECRET} {OTHER_SECRET} {API_KEY}").parse().unwrap();
                request.headers.insert(USER_AGENT, secrets);
            }
            "delivery-event" => drop(request.headers.remove(EVENT)),
            _ => {}
        }
        request
    }
}
