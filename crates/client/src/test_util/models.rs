//! Resources made of little. Their public constructors make them of more:
//! [`Submission::new`], [`Form::new`], [`User::new`](crate::User::new).

use formsvc_protocol::{Answers, Form, FormStatus, Submission, Timestamp};

/// 2026-01-01T00:00:00Z.
const NEW_YEAR_NANOS: i128 = 1_767_225_600_000_000_000;

/// A submission. Panics when a part breaks its rule: an id, the JSON text of an object, a time.
pub fn submission(id: &str, answers: &str, created_at: &str) -> Submission {
    Submission::new(
        id.parse().unwrap_or_else(|error| panic!("`{id}`: {error}")),
        Answers::parse(answers).unwrap_or_else(|error| panic!("`{answers}`: {error}")),
        created_at.parse().unwrap_or_else(|error| panic!("`{created_at}`: {error}")),
    )
}

/// So many submissions, newest first, a second apart and all of January 2026 or before: `sub_1` is
/// the oldest. The one answer of each is its number, under `Number`.
pub fn generate(rows: u32) -> Vec<Submission> {
    let one = |n: u32| {
        let age = i128::from(rows - n) * 1_000_000_000;
        let time = Timestamp::from_unix_nanos(NEW_YEAR_NANOS - age).expect("within 137 years");
        submission(&format!("sub_{n}"), &format!(r#"{{"Number":{n}}}"#), time.as_str())
    };
    (1..=rows).rev().map(one).collect()
}

/// A published form of New Year 2026. Panics when the id breaks its rule.
pub fn form(id: &str, title: &str) -> Form {
    let time = Timestamp::from_unix_nanos(NEW_YEAR_NANOS).expect("within the years 0 to 9999");
    Form::new(
        id.parse().unwrap_or_else(|error| panic!("`{id}`: {error}")),
        format!("p-{id}").parse().unwrap_or_else(|error| panic!("`p-{id}`: {error}")),
        title,
        FormStatus::Published,
        time.clone(),
        time,
    )
}
