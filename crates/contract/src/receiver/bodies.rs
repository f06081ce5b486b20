//! The bodies of the checks: templates with exact bytes, because each byte is under test.

/// Placeholder of the submission's id.
const ID: &str = "@ID@";
/// Placeholder of the submission's time.
const AT: &str = "@AT@";
/// Placeholder of a long text.
const FILL: &str = "@FILL@";

/// A kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Plain,
    Unicode,
    Escapes,
    Pretty,
    KeyOrder,
    Numbers,
    TrailingNewline,
    UnknownEvent,
    UnknownFields,
    Large,
    Oversize,
}

/// The answer that [`tampered`] changes, and its replacement.
const TAMPERED: (&str, &str) = ("\"Amount\":\"100\"", "\"Amount\":\"900\"");

const PLAIN: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Name":"Ada","Amount":"100"},"#,
    r#""created_at":"@AT@"}"#,
);
const UNICODE: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Näme":"Zoë Ångström","城市":"東京","#,
    "\"Mood\":\"🙂\",\"Lines\":\"a\u{2028}b\u{a0}c\",\"Accent\":\"e\u{301}\"},",
    r#""created_at":"@AT@"}"#,
);
const ESCAPES: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Page":"https:\/\/forms.example\/a","#,
    r#""Name":"Zo\u00eb \u0041\u004Eg","Mood":"\ud83d\ude42","Tag":"\u003cb\u003e &","#,
    r#""Path":"C:\\new\tline\n\"end\""},"created_at":"@AT@"}"#,
);
const PRETTY: &str = r#"{
  "event": "submission.created",
  "submission_id": "@ID@",
  "form_id": "frm_check",
  "form_title": "formsvc webhook check",
  "data": {
    "Name": "Ada",
    "Empty": { },
    "List": [ 1,
      2 ]
  },
  "created_at" : "@AT@"
}"#;
const KEY_ORDER: &str = concat!(
    r#"{"created_at":"@AT@","data":{"b":"1","10":"2","a":"3","9":"4"},"#,
    r#""form_title":"formsvc webhook check","form_id":"frm_check","submission_id":"@ID@","#,
    r#""event":"submission.created"}"#,
);
const NUMBERS: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Big":12345678901234567890123,"#,
    r#""Price":1.10,"Whole":3.0,"Exponent":1E+2,"Exact":0.1000000000000000055511151231257827,"#,
    r#""Zero":-0.0},"created_at":"@AT@"}"#,
);
const UNKNOWN_EVENT: &str = concat!(
    r#"{"event":"form.archived","form_id":"frm_check","form_title":"formsvc webhook check","#,
    r#""archived_by":"@ID@","created_at":"@AT@"}"#,
);
const UNKNOWN_FIELDS: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Name":"Ada"},"created_at":"@AT@","#,
    r#""locale":"en","tags":["a",{"b":null}],"score":0.5}"#,
);
const FILLED: &str = concat!(
    r#"{"event":"submission.created","submission_id":"@ID@","form_id":"frm_check","#,
    r#""form_title":"formsvc webhook check","data":{"Text":"@FILL@"},"created_at":"@AT@"}"#,
);

/// Above the default limit of 100 kB of a popular framework, and below the largest body of a form.
const LARGE: usize = 200 << 10;
/// Twice the default limit of our receiver.
const OVERSIZE: usize = 2 << 20;

impl Body {
    /// Fills in the id and time of a submission.
    pub(super) fn bytes(self, id: &str, at: &str) -> Vec<u8> {
        let (text, fill) = match self {
            Self::Plain | Self::TrailingNewline => (PLAIN, 0),
            Self::Unicode => (UNICODE, 0),
            Self::Escapes => (ESCAPES, 0),
            Self::Pretty => (PRETTY, 0),
            Self::KeyOrder => (KEY_ORDER, 0),
            Self::Numbers => (NUMBERS, 0),
            Self::UnknownEvent => (UNKNOWN_EVENT, 0),
            Self::UnknownFields => (UNKNOWN_FIELDS, 0),
            Self::Large => (FILLED, LARGE),
            Self::Oversize => (FILLED, OVERSIZE),
        };
        let mut text = text.replace(ID, id).replace(AT, at);
        if fill > 0 {
            text = text.replace(FILL, &"x".repeat(fill));
        }
        if self == Self::TrailingNewline {
            text.push_str("\r\n");
        }
        text.into_bytes()
    }

    /// Returns the value of `X-Service-Event`.
    pub(super) fn event(self) -> &'static str {
        if self == Self::UnknownEvent { "form.archived" } else { "submission.created" }
    }
}

/// Replaces one answer of the plain body by another of the same length.
pub(super) fn tampered(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    text.replacen(TAMPERED.0, TAMPERED.1, 1).into_bytes()
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::WebhookEvent;
    use formsvc_receiver::WebhookEvent as ReceivedEvent;

    use super::*;

    const ALL: [Body; 11] = [
        Body::Plain,
        Body::Unicode,
        Body::Escapes,
        Body::Pretty,
        Body::KeyOrder,
        Body::Numbers,
        Body::TrailingNewline,
        Body::UnknownEvent,
        Body::UnknownFields,
        Body::Large,
        Body::Oversize,
    ];

    fn bytes(body: Body) -> Vec<u8> {
        body.bytes("sub_check_1", "2026-01-31T09:30:00.120Z")
    }

    #[test]
    fn each_body_is_an_event_without_placeholders() {
        for body in ALL {
            let bytes = bytes(body);
            let text = std::str::from_utf8(&bytes).unwrap();
            assert!(!text.contains('@'), "{body:?}");
            let json: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(json["event"], body.event(), "{body:?}");
            match ReceivedEvent::from_json(bytes.clone()).unwrap() {
                ReceivedEvent::SubmissionCreated(event) => {
                    assert_eq!(event.submission_id.as_str(), "sub_check_1");
                }
                _ => assert_eq!(body, Body::UnknownEvent),
            }
        }
    }

    #[test]
    fn plain_body_is_spelled_as_the_service_does() {
        let text = String::from_utf8(bytes(Body::Plain)).unwrap();
        let event: WebhookEvent = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
    }

    #[test]
    fn reserialized_bodies_of_raw_checks_differ() {
        for body in ALL {
            let bytes = bytes(body);
            let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let changed = serde_json::to_vec(&json).unwrap() != bytes;
            let raw = [Body::Escapes, Body::Pretty, Body::KeyOrder, Body::Numbers];
            if raw.contains(&body) || body == Body::TrailingNewline {
                assert!(changed, "{body:?}");
            }
        }
        assert!(!bytes(Body::Unicode).is_ascii());
        let ascii = ALL.into_iter().filter(|body| *body != Body::Unicode);
        for body in ascii {
            assert!(bytes(body).is_ascii(), "{body:?} would also test the encoding");
        }
    }

    #[test]
    fn tampered_body_has_one_changed_byte() {
        let (before, after) = (bytes(Body::Plain), tampered(&bytes(Body::Plain)));
        assert_eq!(before.len(), after.len());
        assert_eq!(before.iter().zip(&after).filter(|(a, b)| a != b).count(), 1);
    }
}
