//! The body of a delivery (SPEC §6).

use bytes::Bytes;

use crate::store::Claimed;

/// The event `submission.created` of a claimed delivery. Everything in it was fixed when the
/// submission was accepted, so that every attempt has the same bytes; the answers are spliced in as
/// they were accepted.
pub(super) fn event_body(claimed: &Claimed) -> Bytes {
    let mut body = Vec::with_capacity(claimed.data.len() + claimed.form_title.len() + 256);
    let texts: [(&[u8], &str); 3] = [
        (br#"{"event":"submission.created","submission_id":"#, claimed.submission.as_str()),
        (br#","form_id":"#, claimed.endpoint.form.as_str()),
        (br#","form_title":"#, &claimed.form_title),
    ];
    for (name, text) in texts {
        body.extend_from_slice(name);
        serde_json::to_writer(&mut body, text).expect("a text is written as JSON");
    }
    body.extend_from_slice(br#","data":"#);
    body.extend_from_slice(&claimed.data);
    body.extend_from_slice(br#","created_at":""#);
    body.extend_from_slice(claimed.created_at.as_str().as_bytes());
    body.extend_from_slice(br#""}"#);
    body.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use formsvc_protocol::{Answers, EndpointId, FormId, FormInstant, SubmissionId, WebhookEvent};

    use super::*;
    use crate::store::{
        ClaimedEndpoint, DeliveryKey, DeliveryState, EndpointNo, Lane, Lease, SealedSecret,
    };

    fn claimed(submission: &str, title: &str, data: &'static str) -> Claimed {
        let endpoint = ClaimedEndpoint {
            number: EndpointNo(1),
            id: EndpointId::new("whe_1").unwrap(),
            form: FormId::new("frm_1").unwrap(),
            url: "https://example.org/".into(),
            secret: SealedSecret(Vec::new()),
            previous_secret: None,
        };
        let at = FormInstant::from_micros(1_767_225_600_120_000);
        Claimed {
            key: DeliveryKey { submission: 1, endpoint: EndpointNo(1) },
            lease: Lease { token: 1, until: at.plus(Duration::from_secs(30)) },
            endpoint: Arc::new(endpoint),
            submission: SubmissionId::new(submission).unwrap(),
            form_title: title.into(),
            data: Bytes::from_static(data.as_bytes()),
            created_at: at.to_timestamp(),
            state: DeliveryState::Pending,
            attempts: 0,
            retries: 0,
            resend: false,
            claims: 1,
            own_fault_for: Duration::ZERO,
            lane: Lane::Fresh,
        }
    }

    #[test]
    fn the_body_is_the_event_with_the_answers_to_the_byte() {
        for (id, title, data) in [
            ("sub_1", "Survey", r#"{"b":1.50,"a":[1e400]}"#),
            ("a\"b", "\"\u{2028}\u{0}<b>", "{}"),
            ("é", "", r#"{"x":"\",\"created_at\":\"","x":2}"#),
        ] {
            let claimed = claimed(id, title, data);
            let body = event_body(&claimed);
            let event = WebhookEvent::submission_created(
                claimed.submission.clone(),
                FormId::new("frm_1").unwrap(),
                title,
                Answers::parse(data).unwrap(),
                claimed.created_at.clone(),
            );
            assert_eq!(body, serde_json::to_vec(&event).unwrap());
        }
    }
}
