//! A JSON text as a tree that keeps key order and the exact text of its leaves, for tests that
//! change one member of a golden.

use formsvc_protocol::Answers;
use serde_json::value::RawValue;

/// Names and values of an object, in order.
pub(crate) type Members = Vec<(String, Json)>;

/// A JSON value. The answers of a submission, an object named `data`, are a leaf.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// Members in order.
    Object(Members),
    /// Elements in order.
    Array(Vec<Json>),
    /// Exact text.
    Leaf(String),
}

impl Json {
    /// Parses a whole text.
    pub(crate) fn parse(text: &str) -> Self {
        Self::read("", text)
    }

    fn read(name: &str, text: &str) -> Self {
        if text.starts_with('{') && name != "data" {
            let object = Answers::parse(text).expect("is an object");
            let members = object.fields().into_iter();
            Self::Object(
                members.map(|(k, v)| (k.to_string(), Self::read(&k, v.as_json()))).collect(),
            )
        } else if text.starts_with('[') {
            let elements: Vec<&RawValue> = serde_json::from_str(text).expect("is an array");
            Self::Array(elements.into_iter().map(|raw| Self::read("", raw.get())).collect())
        } else {
            Self::Leaf(text.to_owned())
        }
    }

    /// Compact text.
    pub(crate) fn print(&self) -> String {
        match self {
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}:{}", serde_json::json!(name), value.print())
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
            Self::Array(elements) => {
                format!("[{}]", elements.iter().map(Self::print).collect::<Vec<_>>().join(","))
            }
            Self::Leaf(text) => text.clone(),
        }
    }

    /// Returns the numbers of all objects, in document order.
    pub(crate) fn objects(&self) -> std::ops::Range<usize> {
        let mut count = 0;
        self.clone().visit_objects(&mut |_| count += 1);
        0..count
    }

    /// Returns a copy with the members of one object edited.
    pub(crate) fn with_object(&self, number: usize, edit: impl FnOnce(&mut Members)) -> Self {
        let (mut copy, mut seen, mut edit) = (self.clone(), 0, Some(edit));
        copy.visit_objects(&mut |members| {
            if seen == number
                && let Some(edit) = edit.take()
            {
                edit(members);
            }
            seen += 1;
        });
        copy
    }

    /// Returns object number, name and value of each member of each object.
    pub(crate) fn members(&self) -> Vec<(usize, String, Json)> {
        let (mut found, mut number) = (Vec::new(), 0);
        self.clone().visit_objects(&mut |members| {
            found.extend(members.iter().map(|(name, value)| (number, name.clone(), value.clone())));
            number += 1;
        });
        found
    }

    fn visit_objects(&mut self, visit: &mut dyn FnMut(&mut Members)) {
        match self {
            Self::Object(members) => {
                visit(members);
                for (_, value) in members {
                    value.visit_objects(visit);
                }
            }
            Self::Array(elements) => {
                for value in elements {
                    value.visit_objects(visit);
                }
            }
            Self::Leaf(_) => {}
        }
    }
}
