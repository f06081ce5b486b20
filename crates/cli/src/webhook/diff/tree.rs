//! JSON as it is spelled, and where two trees of it differ.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use serde_json::value::RawValue;

use super::Change;

/// Deepest level that is looked into; what is below is compared as it is spelled.
const DEPTH_MAX: usize = 32;

/// A value.
pub(super) struct Node<'a> {
    text: &'a str,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Object(Object<'a>),
    Array(Vec<Node<'a>>),
    /// Decoded, so that escapes do not matter.
    Text(String),
    Other,
}

/// Members in their order, found by name: a stranger's body may have tens of thousands.
#[derive(Default)]
struct Object<'a> {
    members: Vec<(Cow<'a, str>, Node<'a>)>,
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Object<'a> {
    /// Of a name that stands twice the last counts, as it does for nearly every reader.
    fn put(&mut self, name: Cow<'a, str>, node: Node<'a>) {
        match self.places.entry(name.clone()) {
            Entry::Occupied(place) => self.members[*place.get()].1 = node,
            Entry::Vacant(place) => {
                place.insert(self.members.len());
                self.members.push((name, node));
            }
        }
    }

    fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.places.get(name).map(|place| &self.members[*place].1)
    }
}

impl<'a> Node<'a> {
    /// The value of a text, if it is JSON.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let value: &RawValue = serde_json::from_str(text).ok()?;
        Some(Self::at(value.get(), 0))
    }

    fn at(text: &'a str, depth: usize) -> Self {
        let kind = match text.as_bytes().first() {
            Some(b'{') if depth < DEPTH_MAX => {
                let mut object = Object::default();
                // What was read as JSON once can be read again.
                for (name, value) in members::of_object(text).unwrap_or_default() {
                    object.put(decode_string(name.get()), Self::at(value.get(), depth + 1));
                }
                Kind::Object(object)
            }
            Some(b'[') if depth < DEPTH_MAX => {
                let elements = members::of_array(text).unwrap_or_default();
                let node = |element: &'a RawValue| Self::at(element.get(), depth + 1);
                Kind::Array(elements.into_iter().map(node).collect())
            }
            Some(b'"') => Kind::Text(decode_string(text).into_owned()),
            _ => Kind::Other,
        };
        Self { text, kind }
    }

    fn is(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Object(a), Kind::Object(b)) => {
                let same =
                    |(name, node): &(Cow<'_, str>, Self)| b.get(name).is_some_and(|b| node.is(b));
                a.members.len() == b.members.len() && a.members.iter().all(same)
            }
            (Kind::Array(a), Kind::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
            }
            (Kind::Text(a), Kind::Text(b)) => a == b,
            _ => self.text == other.text,
        }
    }
}

/// Adds what is different below a path.
pub(super) fn compare(path: &str, old: &Node<'_>, new: &Node<'_>, changes: &mut Vec<Change>) {
    match (&old.kind, &new.kind) {
        (Kind::Object(olds), Kind::Object(news)) => {
            for (name, old) in &olds.members {
                let path = below(path, name);
                match news.get(name) {
                    Some(new) => compare(&path, old, new, changes),
                    None => changes.push(change(path, Some(old), None)),
                }
            }
            let added = news.members.iter().filter(|(name, _)| olds.get(name).is_none());
            changes.extend(added.map(|(name, new)| change(below(path, name), None, Some(new))));
        }
        (Kind::Array(olds), Kind::Array(news)) => elements(path, olds, news, changes),
        _ if old.is(new) => {}
        _ => changes.push(change(path.to_owned(), Some(old), Some(new))),
    }
}

/// Elements between those that both begin and end with.
fn elements(path: &str, olds: &[Node<'_>], news: &[Node<'_>], changes: &mut Vec<Change>) {
    let start = olds.iter().zip(news).take_while(|(old, new)| old.is(new)).count();
    let (old_rest, new_rest) = (&olds[start..], &news[start..]);
    // Only where some were added or removed: else each is compared with the one in its place.
    let end = if olds.len() == news.len() {
        0
    } else {
        let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
        pairs.take_while(|(old, new)| old.is(new)).count()
    };
    let old_rest = &old_rest[..old_rest.len() - end];
    let new_rest = &new_rest[..new_rest.len() - end];
    for at in 0..old_rest.len().max(new_rest.len()) {
        let path = below(path, &(start + at).to_string());
        match (old_rest.get(at), new_rest.get(at)) {
            (Some(old), Some(new)) => compare(&path, old, new, changes),
            (old, new) => changes.push(change(path, old, new)),
        }
    }
}

fn change(path: String, old: Option<&Node<'_>>, new: Option<&Node<'_>>) -> Change {
    let text = |node: &Node<'_>| node.text.to_owned();
    Change { path, old: old.map(text), new: new.map(text) }
}

/// The path of a member, as `--set` takes it.
fn below(path: &str, name: &str) -> String {
    let name = name.replace('\\', r"\\").replace('.', r"\.");
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
