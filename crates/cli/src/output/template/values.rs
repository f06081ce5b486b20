//! Converts JSON to the values of a template.

use formsvc_protocol::decode_string;
use minijinja::Value;
use minijinja::value::ValueKind;
use serde_json::value::RawValue;

use crate::base::sanitize::lines;

/// Converts a JSON text of bounded depth. Integers are exact. Another number stays a number if that preserves its
/// spelling, and becomes text otherwise (`1.10`, `1e400`).
pub(super) fn of_json(json: &str, sanitized: bool) -> Value {
    let json = json.trim();
    match json.as_bytes().first() {
        Some(b'{') => Value::from_pairs(
            pairs(json)
                .into_iter()
                .map(|(name, value)| (text(name, sanitized), of_json(value, sanitized))),
        ),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            items.into_iter().map(|item| of_json(item.get(), sanitized)).collect()
        }
        Some(b'"') => text(json, sanitized),
        Some(b't') => Value::from(true),
        Some(b'f') => Value::from(false),
        Some(b'n') | None => Value::from(()),
        Some(_) => number(json),
    }
}

/// Returns the members of an object by name; none for another value.
pub(super) fn members(value: &Value) -> Vec<(String, Value)> {
    if value.kind() != ValueKind::Map {
        return Vec::new();
    }
    let names = value.try_iter().into_iter().flatten();
    names
        .filter_map(|name| {
            let member = value.get_item(&name).ok()?;
            // A template uses the name `item` for the complete object.
            name.as_str().filter(|name| *name != "item").map(|name| (name.to_owned(), member))
        })
        .collect()
}

fn text(literal: &str, sanitized: bool) -> Value {
    let text = decode_string(literal);
    if sanitized { Value::from(lines(&text)) } else { Value::from(text) }
}

fn number(json: &str) -> Value {
    if let Ok(whole) = json.parse::<i64>() {
        return Value::from(whole);
    }
    if let Ok(whole) = json.parse::<i128>() {
        return Value::from(whole);
    }
    match json.parse::<f64>() {
        Ok(fraction) if Value::from(fraction).to_string() == json => Value::from(fraction),
        _ => Value::from(json),
    }
}

fn pairs(object: &str) -> Vec<(&str, &str)> {
    crate::output::listing::pairs(object)
        .into_iter()
        .map(|(name, value)| (name.get(), value.get()))
        .collect()
}
