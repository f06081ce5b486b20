//! Differences between deliveries or responses: JSON bodies by member, other texts by line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use http::{HeaderMap, HeaderName};
use serde::Serialize;
use serde_json::value::RawValue;
use similar::algorithms::{Capture, Replace, diff_slices_deadline};
use similar::{Algorithm, DiffTag};

use crate::delivery::{Delivery, DeliverySummary, TargetResponse};
use crate::mask;

/// Deepest level of JSON that is compared by member. Deeper values are compared as text.
const MAX_COMPARED_DEPTH: usize = 32;
/// Longest name in a path, in characters.
const MAX_NAME: usize = 100;
/// Maximum number of differences of a body that are listed.
const MAX_LISTED: usize = 10_000;
/// Time limit of a comparison by line. When the limit is reached, the remaining lines count as replaced.
const LINES_TIMEOUT: Duration = Duration::from_secs(1);

/// One difference between two deliveries, responses or bodies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub part: Part,
    /// The name of a field or header, the path of a JSON value in the syntax of [`crate::edit`], or the number
    /// of a line. Empty if the difference concerns the whole body.
    pub path: String,
    pub change: ChangeKind,
    /// The old value; `None` if the value was added.
    pub old: Option<String>,
    /// The new value; `None` if the value was removed.
    pub new: Option<String>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Request,
    Response,
    Headers,
    Body,
}

/// The kinds of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
    /// The JSON values are equal, but their bytes differ, for example in white space.
    Spelling,
    /// A note that there are more differences than are listed.
    More,
}

impl Difference {
    fn new(part: Part, path: &str, old: Option<String>, new: Option<String>) -> Self {
        let change = match (&old, &new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        Self { part, path: path.to_owned(), change, old, new }
    }
}

/// Compares two deliveries. Secrets that differ are listed, but masked unless `reveal` is set.
pub fn deliveries(old: &Delivery, new: &Delivery, reveal: bool) -> Vec<Difference> {
    let fields = |summary: &DeliverySummary| {
        let status = summary.response.as_ref().and_then(|response| response.status);
        [
            ("method", summary.method.to_string()),
            ("request_target", summary.request_target.clone()),
            ("verdict", summary.verdict.code.row().name.to_owned()),
            ("status", status.map_or_else(|| "none".to_owned(), |status| status.to_string())),
        ]
    };
    let mut all = Vec::new();
    for ((name, old), (_, new)) in fields(&old.summary).into_iter().zip(fields(&new.summary)) {
        if old != new {
            let shown = |value: &str| Some(mask::target(value, reveal).into_owned());
            all.push(Difference::new(Part::Request, name, shown(&old), shown(&new)));
        }
    }
    all.extend(headers(&old.headers, &new.headers, reveal));
    all.extend(bodies(&old.body, &new.body));
    all
}

/// Compares two responses of targets, except for the header `Date`.
pub fn responses(old: &TargetResponse, new: &TargetResponse, reveal: bool) -> Vec<Difference> {
    let mut all = Vec::new();
    if old.status != new.status {
        let (old, new) = (Some(old.status.to_string()), Some(new.status.to_string()));
        all.push(Difference::new(Part::Response, "status", old, new));
    }
    let headers = headers(&old.headers, &new.headers, reveal).into_iter();
    all.extend(headers.filter(|header| header.path != "date"));
    all.extend(bodies(
        &mask::response_body(&old.body, reveal),
        &mask::response_body(&new.body, reveal),
    ));
    all
}

/// Compares all values of each header. Different secrets are a difference, but their values are masked unless
/// `reveal`.
fn headers(old: &HeaderMap, new: &HeaderMap, reveal: bool) -> Vec<Difference> {
    let text = |headers: &HeaderMap, name: &HeaderName| {
        let values = headers.get_all(name).iter().map(|value| {
            String::from_utf8_lossy(mask::value(name, value, reveal).as_bytes()).into_owned()
        });
        headers.contains_key(name).then(|| values.collect::<Vec<_>>().join("\n"))
    };
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    names
        .filter(|name| !old.get_all(*name).iter().eq(new.get_all(*name).iter()))
        .map(|name| Difference::new(Part::Headers, name.as_str(), text(old, name), text(new, name)))
        .collect()
}

pub fn bodies(old: &[u8], new: &[u8]) -> Vec<Difference> {
    let mut differences = Differences::default();
    if old == new {
        return differences.0;
    }
    let (Ok(old_text), Ok(new_text)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        let at = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let size = |body: &[u8]| Some(format!("{} bytes", body.len()));
        differences.push(&format!("byte {at}"), size(old), size(new));
        return differences.0;
    };
    let (Some(old), Some(new)) = (Node::parse(old_text), Node::parse(new_text)) else {
        differences.compare_lines(old_text, new_text);
        return differences.0;
    };
    differences.compare("", Some(&old), Some(&new));
    if differences.0.is_empty() {
        let text = "the same JSON in other bytes: white space, escapes or order of members";
        let difference = Difference::new(Part::Body, "", None, Some(text.to_owned()));
        differences.0.push(Difference { change: ChangeKind::Spelling, ..difference });
    }
    differences.0
}

/// The differences of a body.
#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn push(&mut self, path: &str, old: Option<String>, new: Option<String>) {
        if self.0.len() < MAX_LISTED {
            self.0.push(Difference::new(Part::Body, path, old, new));
        } else if self.0.len() == MAX_LISTED {
            let text = format!("only the first {MAX_LISTED} differences are listed");
            let difference = Difference::new(Part::Body, "", None, Some(text));
            self.0.push(Difference { change: ChangeKind::More, ..difference });
        }
    }

    /// Compares two values, at most one of which is missing.
    fn compare(&mut self, path: &str, old: Option<&Node<'_>>, new: Option<&Node<'_>>) {
        if old == new || self.0.len() > MAX_LISTED {
            return;
        }
        match (old.map(|old| &old.kind), new.map(|new| &new.kind)) {
            (Some(NodeKind::Object(olds)), Some(NodeKind::Object(news))) => {
                let names = olds.keys().chain(news.keys().filter(|name| !olds.contains_key(*name)));
                for name in names {
                    self.compare(&child_path(path, name), olds.get(name), news.get(name));
                }
            }
            (Some(NodeKind::Array(olds)), Some(NodeKind::Array(news))) => {
                // Skip the equal elements at the start, and at the end too if the lengths differ, so that an
                // inserted element is one difference.
                let is_resized = olds.len() != news.len();
                let start = olds.iter().zip(news).take_while(|(old, new)| old == new).count();
                let (olds, news) = (&olds[start..], &news[start..]);
                let ends = olds.iter().rev().zip(news.iter().rev());
                let end = ends.take_while(|(old, new)| is_resized && old == new).count();
                let (olds, news) = (&olds[..olds.len() - end], &news[..news.len() - end]);
                for at in 0..olds.len().max(news.len()) {
                    let path = child_path(path, &(start + at).to_string());
                    self.compare(&path, olds.get(at), news.get(at));
                }
            }
            _ => {
                let text = |node: &Node<'_>| node.text.to_owned();
                self.push(path, old.map(text), new.map(text));
            }
        }
    }

    fn compare_lines(&mut self, old: &str, new: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let mut capture = Replace::new(Capture::new());
        let deadline = Some(Instant::now() + LINES_TIMEOUT);
        let result = diff_slices_deadline(Algorithm::Myers, &mut capture, &old, &new, deadline);
        let Ok(()) = result;
        for op in capture.into_inner().into_ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
            let text = |line: &str| Some(line.trim_end_matches(['\r', '\n']).to_owned());
            let path = |at: usize| format!("line {}", at + 1);
            for at in op.old_range() {
                self.push(&path(at), text(old[at]), None);
            }
            for at in op.new_range() {
                self.push(&path(at), None, text(new[at]));
            }
        }
    }
}

/// A JSON value. Two values are equal if a JSON parser reads them as equal, except that numbers are compared
/// as text.
struct Node<'a> {
    text: &'a str,
    kind: NodeKind<'a>,
}

#[derive(PartialEq)]
enum NodeKind<'a> {
    /// Members by name. If several members have the same name, only the last of them is present.
    Object(BTreeMap<Cow<'a, str>, Node<'a>>),
    Array(Vec<Node<'a>>),
    String(Cow<'a, str>),
    Other(&'a str),
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl<'a> Node<'a> {
    /// Returns `None` if the text is not JSON.
    fn parse(text: &'a str) -> Option<Self> {
        Self::parse_at(serde_json::from_str::<&RawValue>(text).ok()?.get(), 0)
    }

    fn parse_at(text: &'a str, depth: usize) -> Option<Self> {
        let child = |value: &'a RawValue| Self::parse_at(value.get(), depth + 1);
        let kind = match text.as_bytes().first()? {
            b'{' if depth < MAX_COMPARED_DEPTH => {
                let members = members::of_object(text).ok()?.into_iter();
                let member = |(name, value): (&'a RawValue, _)| {
                    Some((decode_string(name.get()), child(value)?))
                };
                NodeKind::Object(members.map(member).collect::<Option<_>>()?)
            }
            b'[' if depth < MAX_COMPARED_DEPTH => {
                let elements = members::of_array(text).ok()?.into_iter();
                NodeKind::Array(elements.map(child).collect::<Option<_>>()?)
            }
            b'"' => NodeKind::String(decode_string(text)),
            _ => NodeKind::Other(text),
        };
        Some(Self { text, kind })
    }
}

/// Returns the path of a child in the syntax of [`crate::edit`].
fn child_path(parent: &str, name: &str) -> String {
    let name = match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    let name = name.replace('\\', r"\\").replace('.', r"\.");
    if parent.is_empty() { name } else { format!("{parent}.{name}") }
}

#[cfg(test)]
mod tests;
