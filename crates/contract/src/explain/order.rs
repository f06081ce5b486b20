//! The bodies that may have been signed if the order of their keys was changed.

use std::borrow::Cow;

use formsvc_protocol::decode_string;
use serde_json::ser::CompactFormatter;
use serde_json::value::RawValue;

use super::Found;
use super::body::{LOST_ZERO, SignedBody, ZeroFormatter, print};
use super::cause::Cause;
use crate::members;

/// The members of an event in the order of the service (SPEC §6).
const EVENT_ORDER: [&str; 6] =
    ["event", "submission_id", "form_id", "form_title", "data", "created_at"];
/// Most orders that are tried: those of seven keys.
const ORDERS_MAX: usize = 5_040;
/// Largest total size of the bodies that are tried.
const BYTES_MAX: usize = 4 << 20;

/// The members of an object, as JSON text.
type Members<'a> = Vec<(&'a RawValue, &'a RawValue)>;

/// A change of the order of keys, and the bodies before it.
pub(super) struct Reordering {
    pub(super) cause: Cause,
    /// None if there are too many.
    pub(super) bodies: Option<Vec<SignedBody<'static>>>,
}

/// Returns the change of order that a body shows: sorted keys, or the order of JavaScript, which has keys
/// that are numbers first.
pub(super) fn reordering(body: &[u8]) -> Option<Reordering> {
    let compact = String::from_utf8(print(body, CompactFormatter)?).ok()?;
    let mut reordering = reordering_of(&compact, None)?;
    // Numbers may have been copied as text, or printed again without a final zero.
    let text = std::str::from_utf8(body).ok()?.trim();
    let zeros = String::from_utf8(print(body, ZeroFormatter)?).ok()?;
    for (text, detail) in [(text, None), (&zeros, Some(LOST_ZERO))] {
        let others = reordering_of(text, detail).and_then(|other| other.bodies);
        if let (Some(bodies), Some(others)) = (&mut reordering.bodies, others)
            && text != compact
        {
            bodies.extend(others);
        }
    }
    Some(reordering)
}

fn reordering_of(text: &str, detail: Option<&str>) -> Option<Reordering> {
    let mut event = members::of_object(text).ok()?;
    let at = event.iter().position(|(name, _)| key(name) == "data")?;
    let answers = members::of_object(event[at].1.get()).unwrap_or_default();
    let name = |(name, _): &(&RawValue, &RawValue)| key(name).into_owned();
    let rank =
        |member: &(&RawValue, &RawValue)| EVENT_ORDER.iter().position(|key| *key == name(member));
    let is_sorted = event.is_sorted_by_key(name) && !event.is_sorted_by_key(rank);
    let numbers: Vec<u32> = answers.iter().map_while(|member| array_index(&name(member))).collect();
    let is_numbers_first = numbers.is_sorted()
        && answers[numbers.len()..].iter().all(|member| array_index(&name(member)).is_none());
    let (cause, moved) = if is_sorted {
        event.sort_by_key(rank);
        (Cause::KeysSorted, answers.len())
    } else if is_numbers_first && !numbers.is_empty() && answers.len() > 1 {
        (Cause::NumberKeysFirst, numbers.len())
    } else {
        return None;
    };
    let orders = orders(&answers, moved, ORDERS_MAX.min(BYTES_MAX / text.len()));
    let bodies = orders.map(|orders| {
        let body = |order: &Members<'_>| {
            let body = print_object(&event, Some(&print_object(order, None)));
            (Some(Found::new(cause, detail)), Cow::Owned(body.into_bytes()))
        };
        orders.iter().map(body).collect()
    });
    Some(Reordering { cause, bodies })
}

/// Returns every order of the members in which all but the first `moved` keep their order, or `None` if
/// there are more than `max`.
fn orders<'a>(
    members: &[(&'a RawValue, &'a RawValue)],
    moved: usize,
    max: usize,
) -> Option<Vec<Members<'a>>> {
    let kept = members.len() - moved;
    let count = (kept + 1..=members.len()).try_fold(1, usize::checked_mul);
    count.filter(|count| *count <= max)?;
    let mut orders = vec![members[moved..].to_vec()];
    for member in &members[..moved] {
        let insert = |order: &Members<'a>, at| {
            let mut order = order.clone();
            order.insert(at, *member);
            order
        };
        orders = orders
            .iter()
            .flat_map(|order| (0..=order.len()).map(move |at| insert(order, at)))
            .collect();
    }
    Some(orders)
}

/// Prints an object, with another value of its member `data` if there is one.
fn print_object(members: &Members<'_>, data: Option<&str>) -> String {
    let print = |(name, value): &(&RawValue, &RawValue)| {
        let value = data.filter(|_| key(name) == "data").unwrap_or(value.get());
        format!("{}:{value}", name.get())
    };
    format!("{{{}}}", members.iter().map(print).collect::<Vec<_>>().join(","))
}

fn key(name: &RawValue) -> Cow<'_, str> {
    decode_string(name.get())
}

/// Returns the number of a key that JavaScript moves to the front: digits without a leading zero.
fn array_index(key: &str) -> Option<u32> {
    key.parse().ok().filter(|index: &u32| index.to_string() == key)
}
