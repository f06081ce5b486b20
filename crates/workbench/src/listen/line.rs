//! The lines that a listener prints for programs. Each line is a JSON object, which `line.schema.json` describes.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Serialize;

use super::goal::{Ended, Expectation};
use super::intake::RefusedRequest;
use super::response::RefusalRow;
use super::totals::Totals;
use crate::delivery::Delivery;
use crate::mask;
use crate::record::{DeliveryRecord, instant};
use crate::warning::Warning;

/// The JSON Schema (draft 2020-12) of [`ListenerLine`]. The schema refers to [`crate::record::SCHEMA`].
pub const SCHEMA: &str = include_str!("line.schema.json");

/// The version of the schema. The version changes only if a field is removed or gets another meaning.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ListenerLine<'a> {
    Ready(ReadyLine<'a>),
    Delivery(Box<DeliveryRecord<'a>>),
    /// A request did not become a delivery.
    Refused {
        at: String,
        code: &'a str,
        message: &'a str,
        status: u16,
        method: &'a str,
        request_target: Cow<'a, str>,
    },
    Warning {
        at: String,
        code: &'a str,
        message: &'a str,
    },
    /// The end of the run.
    Summary {
        at: String,
        ended: &'a str,
        #[serde(flatten)]
        totals: &'a Totals,
        expectations: &'a [Expectation],
        met: bool,
    },
}

/// The line that is printed when the listener accepts deliveries.
#[derive(Debug, Serialize)]
pub struct ReadyLine<'a> {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    pub at: String,
    pub url: &'a str,
    pub pid: u32,
    pub version: &'a str,
    /// Names of the signing secrets. If there are none, deliveries are not verified.
    pub secrets: Vec<&'a str>,
    pub on_invalid: &'static str,
    /// The only path that accepts deliveries; `None` if every path does.
    pub path: Option<&'a str>,
    pub targets: Vec<String>,
    /// The folder of the store; `None` if the store is in memory.
    pub store: Option<String>,
    /// The address of the inspector.
    pub ui_url: Option<&'a str>,
}

impl<'a> ListenerLine<'a> {
    /// Creates the line of a delivery. Secrets are masked unless `reveal`.
    pub fn delivery(delivery: &'a Delivery, reveal: bool) -> Self {
        Self::Delivery(Box::new(DeliveryRecord::of(delivery, reveal)))
    }

    /// Creates the line of a refused request. Secrets are masked unless `reveal`.
    pub fn refused(refused: &'a RefusedRequest, reveal: bool) -> Self {
        let RefusalRow { status, code, message, .. } = *refused.refusal.row();
        Self::Refused {
            at: instant(refused.at),
            code,
            message,
            status,
            method: refused.method.as_str(),
            request_target: mask::target(&refused.request_target, reveal),
        }
    }

    pub fn warning(warning: &'a Warning, at: Timestamp) -> Self {
        Self::Warning { at: instant(at), code: warning.code.name(), message: &warning.message }
    }

    /// Creates the line that is printed at the end of the run.
    pub fn summary(
        totals: &'a Totals,
        ended: Ended,
        expectations: &'a [Expectation],
        at: Timestamp,
    ) -> Self {
        let met = expectations.iter().all(|one| one.met);
        Self::Summary { at: instant(at), ended: ended.name(), totals, expectations, met }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use http::Method;
    use serde_json::{Value, json};

    use super::super::goal::{Expression, Goal, GoalOptions};
    use super::super::policy::OnInvalid;
    use super::super::response::{REFUSALS, Refusal};
    use super::super::samples;
    use super::*;
    use crate::record::tests::assert_conforms;
    use crate::warning::WarningCode;

    fn summary(count: u64, ended: Ended) -> Value {
        let mut totals = Totals::default();
        let expect = vec![Expression::parse("status=503").unwrap()];
        let goal = GoalOptions { count: Some(count), expect, ..GoalOptions::default() };
        let mut goal = Goal::new(goal, Instant::now());
        for _ in 0..count {
            totals.add(&samples::delivery());
            goal.observe(&samples::delivery(), Instant::now());
        }
        let result = goal.result(ended);
        let line = ListenerLine::summary(&totals, ended, &result, Timestamp::UNIX_EPOCH);
        serde_json::to_value(line).unwrap()
    }

    fn lines() -> Vec<Value> {
        let ready = ReadyLine {
            schema: SCHEMA_VERSION,
            at: instant(Timestamp::UNIX_EPOCH),
            url: "http://127.0.0.1:9000/",
            pid: 1,
            version: "0.1.0",
            secrets: vec!["env"],
            on_invalid: OnInvalid::Reject.name(),
            path: None,
            targets: vec!["http://localhost:4242/".to_owned()],
            store: None,
            ui_url: None,
        };
        let refused = RefusedRequest {
            at: Timestamp::UNIX_EPOCH,
            method: Method::GET,
            request_target: "/?token=abc".to_owned(),
            refusal: Refusal::MethodNotAllowed,
        };
        let warning = Warning { code: WarningCode::NotStored, message: "full".to_owned() };
        let delivery = samples::delivery();
        let lines = [
            ListenerLine::Ready(ready),
            ListenerLine::delivery(&delivery, false),
            ListenerLine::refused(&refused, false),
            ListenerLine::warning(&warning, Timestamp::UNIX_EPOCH),
        ];
        let lines = lines.iter().map(|line| serde_json::to_value(line).unwrap());
        lines.chain([summary(0, Ended::Stopped), summary(2, Ended::Met)]).collect()
    }

    #[test]
    fn each_kind_of_line_conforms_to_the_schema() {
        let mut schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let record: Value = serde_json::from_str(crate::record::SCHEMA).unwrap();
        let mut kinds = schema["$defs"].take();
        let delivery = &mut kinds["delivery"];
        assert_eq!(delivery["$ref"], record["$id"], "the delivery's schema is referred to");
        let mut properties = record["properties"].clone();
        properties["type"] = delivery["properties"]["type"].clone();
        delivery["properties"] = properties;
        for line in lines() {
            let kind = line["type"].as_str().unwrap();
            assert_eq!(kinds[kind]["properties"]["type"], json!({"const": kind}));
            assert_conforms(&line, &kinds[kind], kind);
        }
        assert_eq!(kinds.as_object().unwrap().len(), 5);
        let references: Vec<_> =
            kinds.as_object().unwrap().keys().map(|kind| format!("#/$defs/{kind}")).collect();
        let listed = schema["oneOf"].as_array().unwrap().iter();
        assert!(listed.map(|one| one["$ref"].as_str().unwrap()).eq(&references));
    }

    #[test]
    fn names_in_the_schema_are_those_of_the_tables() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let listed = |kind: &str, member: &str| {
            let names = &schema["$defs"][kind]["properties"][member]["enum"];
            names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned())
        };
        assert!(listed("summary", "ended").eq(Ended::ALL.map(|(_, name)| name)));
        assert!(listed("ready", "on_invalid").eq(OnInvalid::ALL.map(|(_, name)| name)));
        assert!(listed("warning", "code").eq(WarningCode::ALL.map(|(_, name)| name)));
        assert!(listed("refused", "code").eq(REFUSALS.map(|row| row.code)));
        assert_eq!(schema["$defs"]["ready"]["properties"]["schema"]["const"], SCHEMA_VERSION);
    }

    #[test]
    fn lines_mask_secrets_and_keep_bodies() {
        let lines = lines();
        assert_eq!(lines[1]["request_target"], "/hook?token=…");
        assert_eq!(lines[1]["body"], json!({}));
        assert_eq!(lines[2]["request_target"], "/?token=…");
        let text = serde_json::to_string(&ListenerLine::delivery(&samples::delivery(), false));
        assert!(text.unwrap().starts_with(r#"{"type":"delivery","capture":7,"#));
    }

    #[test]
    fn summary_has_counts_times_and_expectations() {
        let line = summary(2, Ended::Met);
        assert_eq!(line["verdicts"], json!({"valid": 2}));
        assert_eq!(line["statuses"], json!({"200": 2}));
        assert_eq!(line["response_ms"], json!({"p50": 41.0, "p95": 41.0, "max": 41.0}));
        assert_eq!((&line["forward_ms"], &line["met"]), (&Value::Null, &json!(false)));
        assert_eq!(line["expectations"][0]["met"], true);
        let mut totals = Totals::default();
        totals.response_times.add(Duration::ZERO);
        let line = ListenerLine::summary(&totals, Ended::Stopped, &[], Timestamp::UNIX_EPOCH);
        let line = serde_json::to_value(line).unwrap();
        assert_eq!((&line["met"], &line["response_ms"]["max"]), (&json!(true), &json!(0.0)));
    }
}
