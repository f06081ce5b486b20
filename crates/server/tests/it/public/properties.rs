//! Whatever is sent: an answer that fits, and nothing lost.

use formsvc_server::public::PublicOptions;
use formsvc_server::rate_limit::RateLimit;
use proptest::prelude::*;
use serde_json::Value;

use super::answers::multipart;
use super::service::{EVERY_KIND, Service, URLENCODED};

/// Runs a case; the service is made once, for its making takes longer than a case.
struct Runner {
    runtime: tokio::runtime::Runtime,
    service: Service,
}

impl Runner {
    fn new(fields: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let off = RateLimit::Off;
        let options = PublicOptions { per_address: off, per_form: off, ..Default::default() };
        let service = runtime.block_on(async {
            let service = Service::with(options).await;
            service.form("form", fields).await;
            service
        });
        Self { runtime, service }
    }
}

#[test]
fn any_body_of_any_type_gets_an_answer_that_fits() {
    let runner = Runner::new(Some(EVERY_KIND));
    let kind = prop_oneof![
        Just(URLENCODED),
        Just("application/json"),
        Just("multipart/form-data; boundary=x"),
    ];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[-=&%+A-Za-z0-9\r\n\":{}x;]{0,80}".prop_map(String::into_bytes),
        "(--x\r\n(Content-Disposition: form-data; name=\"?[A-Za-z]{0,6}\"?\r\n){0,2}\r\n[a-z]{0,5}(\r\n)?){0,3}(--x--)?"
            .prop_map(String::into_bytes),
    ];
    proptest!(|(kind in kind, body in body)| {
        let answer = runner.runtime.block_on(runner.service.post("/f/form", kind, body));
        let status = answer.status.as_u16();
        prop_assert!([201, 303, 400, 415, 422].contains(&status), "{status} {}", answer.body);
    });
}

#[test]
fn a_free_form_keeps_every_value_of_every_part() {
    let runner = Runner::new(None);
    // An escape of a browser's cannot be told from a name that looks like one: no `%`.
    let pair = ("[a-z \"é]{1,6}", "[^\r]{0,20}");
    proptest!(|(pairs in prop::collection::vec(pair, 1..8))| {
        let borrowed: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        let (content_type, body) = multipart(&borrowed);
        // A value that looks like the end of its part is none that a browser would send so.
        prop_assume!(pairs.iter().all(|(_, value)| !value.contains("----x")));
        let kept = runner.runtime.block_on(async {
            let taken = runner.service.post("/f/form", &content_type, body).await;
            taken.assert_thanks("form");
            runner.service.newest("form", 1).await.remove(0)
        });
        let kept: Value = serde_json::from_str(&kept).unwrap();
        for (name, value) in &pairs {
            let value = Value::from(value.as_str());
            let list = kept[name].as_array().cloned().unwrap_or_default();
            prop_assert!(kept[name] == value || list.contains(&value), "{name:?} {kept}");
        }
    });
}
