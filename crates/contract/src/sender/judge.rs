//! Judges whether recorded attempts fulfil a statement. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::SignatureHeader;
use serde_json::Value;

use super::recorder::{self, Attempt, Submissions};
use super::{ATTEMPTS, Missing, SenderProfile};
use crate::judgement::{Judgement, Problem, fail, require, skip};

/// Largest difference between the progress of `t` and of the receiver's clock, in seconds.
const DRIFT_MAX: u64 = 2;

/// The recorded attempts of a run.
pub(super) struct RunRecord<'a> {
    pub(super) submissions: &'a Submissions,
    /// Number of other requests.
    pub(super) ignored: usize,
    pub(super) missing: Option<&'a Missing>,
}

impl RunRecord<'_> {
    pub(super) fn profile(&self) -> SenderProfile {
        let refused = self.submissions.get(1).map(Vec::as_slice).unwrap_or_default();
        let names = self.submissions.iter().flatten().flat_map(|attempt| attempt.headers.keys());
        let names: BTreeSet<String> = names.map(ToString::to_string).collect();
        SenderProfile {
            attempts: refused.len(),
            pauses_ms: pauses(refused)
                .map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
                .collect(),
            header_names: names.into_iter().collect(),
        }
    }

    /// Tests every attempt of every submission.
    fn every(&self, test: impl Fn(&Attempt) -> Result<(), Problem>) -> Judgement<String> {
        let mut attempts = self.submissions.iter().flatten();
        let count = attempts.clone().count();
        if count == 0 {
            return Err(skip("no delivery arrived"));
        }
        attempts.try_for_each(test)?;
        Ok(format!("{count} attempts"))
    }

    /// Tests the attempts with a valid signature, or all if none has one.
    fn every_authentic(&self, test: impl Fn(&Attempt) -> Result<(), Problem>) -> Judgement<String> {
        let is_signed = self.submissions.iter().flatten().any(|attempt| attempt.is_signed);
        self.every(|attempt| if attempt.is_signed == is_signed { test(attempt) } else { Ok(()) })
    }

    /// The attempts of a submission, of which the first arrived.
    fn attempts(&self, submission: usize) -> Result<&[Attempt], Problem> {
        let attempts = self.submissions.get(submission).map(Vec::as_slice);
        attempts.ok_or_else(|| skip("too few submissions were delivered"))
    }

    /// The attempts of the refused delivery, if all were observed.
    fn all_attempts(&self) -> Result<&[Attempt], Problem> {
        let attempts = self.attempts(1)?;
        match self.missing {
            None => Ok(attempts),
            Some(_) => Err(skip(format!("only {} attempts were observed", attempts.len()))),
        }
    }
}

pub(super) fn arrives(run: &RunRecord<'_>) -> Judgement<String> {
    let count = run.submissions.len();
    let others = match run.ignored {
        0 => String::new(),
        ignored => format!(", {ignored} other requests ignored"),
    };
    match run.missing {
        Some(Missing::Submission) => {
            let wanted = super::SUBMISSIONS;
            Err(fail(format!("{count} of {wanted} submissions arrived{others}")))
        }
        _ => Ok(format!("{count} submissions{others}")),
    }
}

pub(super) fn method(run: &RunRecord<'_>) -> Judgement<String> {
    run.every_authentic(|attempt| {
        require(attempt.method == "POST", || format!("the method is {}", attempt.method))
    })
}

pub(super) fn header(run: &RunRecord<'_>, name: &str, wanted: &str) -> Judgement<String> {
    run.every_authentic(|attempt| {
        let found = attempt.headers.get(name).map(http::HeaderValue::as_bytes);
        require(found == Some(wanted.as_bytes()), || match found {
            Some(found) => format!("`{name}` is `{}`", String::from_utf8_lossy(found)),
            None => format!("`{name}` is missing"),
        })
    })
}

pub(super) fn signature_format(run: &RunRecord<'_>) -> Judgement<String> {
    run.every(|attempt| {
        require(recorder::signature(&attempt.headers).is_some(), || {
            "the header is missing or malformed".to_owned()
        })
    })
}

pub(super) fn signature_valid(run: &RunRecord<'_>) -> Judgement<String> {
    run.every(|attempt| {
        signature(attempt)?;
        require(attempt.is_signed, || "no `v1` matches the secret and the body".to_owned())
    })
}

pub(super) fn signature_time(run: &RunRecord<'_>) -> Judgement<String> {
    run.every(|attempt| {
        let off = signature(attempt)?.unix_seconds().abs_diff(attempt.unix.as_secs());
        let is_near = off <= SIGNATURE_TOLERANCE.as_secs();
        require(is_near, || format!("`t` differs by {off} s from the receiver's clock"))
    })
}

/// `t` follows the clock from attempt to attempt.
pub(super) fn fresh_time(run: &RunRecord<'_>) -> Judgement<String> {
    let attempts = retried(run)?;
    let (first, last) = (&attempts[0], &attempts[attempts.len() - 1]);
    if last.unix.saturating_sub(first.unix) <= Duration::from_secs(DRIFT_MAX) {
        let found = format!("all attempts arrived within {DRIFT_MAX} s, and `t` has whole seconds");
        return Err(skip(found));
    }
    let signed = signature(first)?.unix_seconds();
    for attempt in attempts {
        let (clock, t) = (attempt.unix.as_secs(), signature(attempt)?.unix_seconds());
        let (passed, moved) = (clock.abs_diff(first.unix.as_secs()), t.saturating_sub(signed));
        require(passed.abs_diff(moved) <= DRIFT_MAX, || {
            format!("`t` advanced by {moved} s within {passed} s")
        })?;
    }
    Ok(format!("{} attempts", attempts.len()))
}

fn signature(attempt: &Attempt) -> Result<SignatureHeader<'_>, Problem> {
    let header = recorder::signature(&attempt.headers);
    header.ok_or_else(|| skip("the signature header is malformed"))
}

pub(super) fn body_fields(run: &RunRecord<'_>) -> Judgement<String> {
    run.every(|attempt| {
        let body: Value = serde_json::from_slice(&attempt.body).unwrap_or_default();
        let has_text = |name: &str| body.get(name).is_some_and(Value::is_string);
        let names = ["event", "submission_id", "form_id", "form_title", "created_at"];
        let missing = names.into_iter().find(|name| !has_text(name));
        require(missing.is_none(), || {
            format!("`{}` is not a string", missing.unwrap_or_default())
        })?;
        require(body["data"].is_object(), || "`data` is not an object".to_owned())
    })
}

pub(super) fn member(
    run: &RunRecord<'_>,
    name: &str,
    is_right: impl Fn(&str) -> bool,
) -> Judgement<String> {
    run.every(|attempt| {
        let body: Value = serde_json::from_slice(&attempt.body).unwrap_or_default();
        let value = body.get(name).and_then(Value::as_str);
        let value = value.ok_or_else(|| skip(format!("`{name}` is not a string")))?;
        require(is_right(value), || format!("`{name}` is `{value}`"))
    })
}

/// The accepted delivery, after all attempts of the refused one.
pub(super) fn ends_after_2xx(run: &RunRecord<'_>) -> Judgement<String> {
    let (_, count) = (run.all_attempts()?, run.attempts(0)?.len());
    require(count == 1, || format!("{count} attempts, the first of which was answered 202"))?;
    Ok("1 attempt".to_owned())
}

pub(super) fn retry_succeeds(run: &RunRecord<'_>) -> Judgement<String> {
    let (_, count) = (run.all_attempts()?, run.attempts(2)?.len());
    require(count == 2, || format!("{count} attempts, answered 503 and 202"))?;
    Ok("2 attempts".to_owned())
}

/// 4xx, a closed connection and 5xx each lead to the next attempt.
pub(super) fn retries(run: &RunRecord<'_>) -> Judgement<String> {
    let attempts = run.attempts(1)?;
    let last = match attempts.last().map(|attempt| attempt.answer) {
        Some(Some(status)) => format!("the answer {}", status.as_u16()),
        Some(None) => "a closed connection".to_owned(),
        None => "the submission".to_owned(),
    };
    match run.missing {
        Some(Missing::Attempt(waited)) => {
            Err(fail(format!("no attempt within {waited:.0?} after {last}")))
        }
        Some(Missing::LaterAttempt(waited)) => {
            Err(skip(format!("no attempt within --max-pause {waited:.0?} after {last}")))
        }
        Some(Missing::Submission) => Err(skip("a submission is missing")),
        None => Ok(format!("{} attempts", attempts.len())),
    }
}

pub(super) fn pauses_grow(run: &RunRecord<'_>) -> Judgement<String> {
    let pauses: Vec<Duration> = pauses(run.all_attempts()?).take(ATTEMPTS - 1).collect();
    require(pauses.is_sorted_by(|one, next| one < next), || {
        format!("the pauses are {pauses:.1?}")
    })?;
    Ok(format!("{pauses:.1?}"))
}

pub(super) fn identical_bodies(run: &RunRecord<'_>) -> Judgement<String> {
    let attempts = retried(run)?;
    let same = attempts.iter().all(|attempt| attempt.body == attempts[0].body);
    require(same, || "the bodies of two attempts differ".to_owned())?;
    Ok(format!("{} attempts", attempts.len()))
}

pub(super) fn ends_after_last(run: &RunRecord<'_>) -> Judgement<String> {
    let count = run.all_attempts()?.len();
    require(count <= ATTEMPTS, || format!("{count} attempts"))?;
    Ok(format!("{count} attempts"))
}

/// The attempts of the refused delivery, at least two.
fn retried<'a>(run: &'a RunRecord<'_>) -> Result<&'a [Attempt], Problem> {
    let attempts = run.attempts(1)?;
    if attempts.len() < 2 {
        return Err(skip("no second attempt was observed"));
    }
    Ok(attempts)
}

fn pauses(attempts: &[Attempt]) -> impl Iterator<Item = Duration> {
    attempts.windows(2).map(|two| two[1].at.duration_since(two[0].at))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use formsvc_protocol::signature::{SigningSecret, sign};
    use http::{HeaderMap, Method};

    use super::*;

    /// Attempts at these seconds of the receiver's clock, with these `t`.
    fn judged(times: &[(u64, u64)]) -> Judgement<String> {
        let secret = SigningSecret::new("whsec_1").unwrap();
        let attempt = |(unix, t): &(u64, u64)| Attempt {
            at: Instant::now(),
            unix: Duration::from_secs(*unix),
            method: Method::POST,
            headers: HeaderMap::from_iter([(
                crate::send::SIGNATURE,
                sign([&secret], *t, b"{}").parse().unwrap(),
            )]),
            body: "{}".into(),
            is_signed: true,
            answer: None,
        };
        let submissions = vec![Vec::new(), times.iter().map(attempt).collect()];
        fresh_time(&RunRecord { submissions: &submissions, ignored: 0, missing: None })
    }

    #[test]
    fn reused_time_is_not_fresh_whatever_the_clocks_show() {
        assert!(judged(&[(1_000, 1_000), (1_010, 1_010), (1_070, 1_071)]).is_ok());
        assert!(judged(&[(1_000, 900), (1_010, 910)]).is_ok(), "the sender's clock is behind");
        let is_failure = |times: &[_]| matches!(judged(times), Err(Problem::Fail(..)));
        assert!(is_failure(&[(1_000, 1_000), (1_003, 1_000)]));
        assert!(is_failure(&[(1_000, 1_000), (1_010, 1_010), (1_070, 1_010)]));
        let too_fast = judged(&[(1_000, 1_000), (1_002, 1_000)]);
        assert!(matches!(too_fast, Err(Problem::Skip(_))));
    }
}
