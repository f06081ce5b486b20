//! The table of wire types and their goldens.

use formsvc_protocol::{
    ErrorBody, Form, FormList, Page, Pagination, Submission, User, WebhookEvent,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a text as the type and prints it again; the error begins with the path of the member.
pub(crate) type RoundTrip = fn(&str) -> Result<String, String>;

/// One wire type.
pub(crate) struct WireType {
    /// Names of the structs whose members the goldens show, the type's own first.
    pub(crate) structs: &'static [&'static str],
    /// Files of `fixtures/wire`, without `.json`.
    pub(crate) goldens: &'static [&'static str],
    /// How it reads and prints.
    pub(crate) round_trip: RoundTrip,
}

/// Every wire type that is sent as a whole, or has its own table in the specification.
pub(crate) const WIRE_TYPES: &[WireType] = &[
    WireType { structs: &["User"], goldens: &["user"], round_trip: owned::<User> },
    WireType { structs: &["Form"], goldens: &["form"], round_trip: owned::<Form> },
    WireType {
        structs: &["FormList"],
        goldens: &["form_list", "form_list_empty"],
        round_trip: owned::<FormList>,
    },
    WireType {
        structs: &["Submission"],
        goldens: &["submission", "submission_empty"],
        round_trip: owned::<Submission>,
    },
    WireType { structs: &["Page"], goldens: PAGES, round_trip: owned::<Page<Submission>> },
    WireType {
        structs: &["Pagination"],
        goldens: &["pagination", "pagination_end"],
        round_trip: owned::<Pagination>,
    },
    WireType {
        structs: &["ErrorBody", "ErrorDetail"],
        goldens: &[
            "error_bad_request",
            "error_missing_authorization",
            "error_invalid_key",
            "error_key_revoked",
            "error_form_not_found",
            "error_rate_limited",
        ],
        round_trip: owned::<ErrorBody>,
    },
    WireType {
        structs: &["WebhookEvent"],
        goldens: &["webhook_event"],
        round_trip: owned::<WebhookEvent>,
    },
];

const PAGES: &[&str] = &["page_first", "page_middle", "page_last", "page_empty"];

fn owned<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value: T = serde_path_to_error::deserialize(&mut json).map_err(|e| e.to_string())?;
    Ok(serde_json::to_string(&value).expect("wire types print"))
}
