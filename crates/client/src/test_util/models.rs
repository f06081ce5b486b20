//! Short constructors of resources. [`Submission::new`], [`Form::new`] and
//! [`User::new`](crate::User::new) set every member.

use formsvc_protocol::{Answers, Form, FormStatus, Submission, Timestamp};

/// 2026-01-01T00:00:00Z.
const NEW_YEAR_NANOS: i128 = 1_767_225_600_000_000_000;

/// Creates a submission from an id, the JSON text of an object and a time. Panics if one of them is
/// invalid.
pub fn submission(id: &str, answers: &str, created_at: &str) -> Submission {
    Submission::new(
        id.parse().unwrap_or_else(|error| panic!("`{id}`: {error}")),
        Answers::parse(answers).unwrap_or_else(|error| panic!("`{answers}`: {error}")),
        created_at.parse().unwrap_or_else(|error| panic!("`{created_at}`: {error}")),
    )
}

/// Creates `rows` submissions, newest first and one second apart, the newest on 2026-01-01: `sub_1`
/// is the oldest. The answer `Number` of each is its number.
pub fn generate(rows: u32) -> Vec<Submission> {
    let one = |n: u32| {
        let age = i128::from(rows - n) * 1_000_000_000;
        let time = Timestamp::from_unix_nanos(NEW_YEAR_NANOS - age).expect("within 137 years");
        submission(&format!("sub_{n}"), &format!(r#"{{"Number":{n}}}"#), time.as_str())
    };
    (1..=rows).rev().map(one).collect()
}

/// Creates a form published on 2026-01-01. Panics if the id is invalid.
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
