//! JSON as the values of a template.

use formsvc_protocol::decode_string;
use minijinja::Value;
use minijinja::value::ValueKind;
use serde_json::value::RawValue;

use crate::base::sanitize::lines;

/// The value of a JSON text, whose nesting has been bounded. Whole numbers are exact; a fraction is
/// a number where that keeps its text, and its text where it would not (`1.10`, `1e400`).
pub(super) fn of_json(json: &str, harmless: bool) -> Value {
    let json = json.trim();
    match json.as_bytes().first() {
        Some(b'{') => Value::from_pairs(
            pairs(json)
                .into_iter()
                .map(|(name, value)| (text(name, harmless), of_json(value, harmless))),
        ),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            items.into_iter().map(|item| of_json(item.get(), harmless)).collect()
        }
        Some(b'"') => text(json, harmless),
        Some(b't') => Value::from(true),
        Some(b'f') => Value::from(false),
        Some(b'n') | None => Value::from(()),
        Some(_) => number(json),
    }
}

/// The members of an object by name; none for anything else.
pub(super) fn members(value: &Value) -> Vec<(String, Value)> {
    if value.kind() != ValueKind::Map {
        return Vec::new();
    }
    let names = value.try_iter().into_iter().flatten();
    names
        .filter_map(|name| {
            let member = value.get_item(&name).ok()?;
            // The whole keeps its name.
            name.as_str().filter(|name| *name != "item").map(|name| (name.to_owned(), member))
        })
        .collect()
}

fn text(literal: &str, harmless: bool) -> Value {
    let text = decode_string(literal);
    if harmless { Value::from(lines(&text)) } else { Value::from(text) }
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
