//! The body of a delivery (SPEC §6).

use bytes::Bytes;

use crate::store::Claimed;

/// The event `submission.created` of a claimed delivery. Everything in it was fixed when the
/// submission was accepted, so that every attempt has the same bytes; the answers are spliced in as
/// they were accepted.
pub(super) fn event_body(claimed: &Claimed) -> Bytes {
    let text = |text| serde_json::to_string(text).expect("a text is written as JSON");
    let submission = text(claimed.submission.as_str());
    let form = text(claimed.endpoint.form.as_str());
    let title = text(&claimed.form_title);
    let mut body = Vec::with_capacity(claimed.data.len() + title.len() + 256);
    let parts: [&[u8]; 11] = [
        br#"{"event":"submission.created","submission_id":"#,
        submission.as_bytes(),
        br#","form_id":"#,
        form.as_bytes(),
        br#","form_title":"#,
        title.as_bytes(),
        br#","data":"#,
        &claimed.data,
        br#","created_at":""#,
        claimed.created_at.as_str().as_bytes(),
        br#""}"#,
    ];
    for part in parts {
        body.extend_from_slice(part);
    }
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
