//! What is wrong with a definition that has not the shape of one, in our words: a parser's name types of
//! its own, and places within the field rather than in the file.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::definition::Flaw;

/// What a key must have for a value.
struct KeyRow {
    name: &'static str,
    is_needed: bool,
    rule: &'static str,
    fits: fn(&str) -> bool,
}

/// The keys of a field. Bounds are not here: they are judged as texts, whatever they are.
const KEYS: [KeyRow; 8] = [
    KeyRow { name: "label", is_needed: true, rule: "a text", fits: fits::<String> },
    KeyRow { name: "type", is_needed: true, rule: "a text", fits: fits::<String> },
    KeyRow { name: "required", is_needed: false, rule: "true or false", fits: fits::<bool> },
    KeyRow { name: "help", is_needed: false, rule: "a text", fits: fits::<Option<String>> },
    KeyRow {
        name: "max_length",
        is_needed: false,
        rule: "a whole number",
        fits: fits::<Option<u32>>,
    },
    KeyRow { name: "min", is_needed: false, rule: "a number or a day", fits: |_| true },
    KeyRow { name: "max", is_needed: false, rule: "a number or a day", fits: |_| true },
    KeyRow {
        name: "choices",
        is_needed: false,
        rule: "a list of texts",
        fits: fits::<Option<Vec<String>>>,
    },
];

fn fits<T: DeserializeOwned>(json: &str) -> bool {
    serde_json::from_str::<T>(json).is_ok()
}

/// The first flaw of a field that was not read.
pub(super) fn flaw_of(raw: &RawValue) -> Flaw {
    let Ok(given) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get()) else {
        let rule = "is no field: it must be an object with `label` and `type`";
        return Flaw::new(raw.get(), rule);
    };
    for (key, value) in &given {
        let Some(row) = KEYS.iter().find(|row| row.name == key) else {
            return Flaw::new(key, "is no key of a field");
        };
        if !(row.fits)(value.get()) {
            return Flaw::new(value.get(), format!("is no `{key}`: it must be {}", row.rule));
        }
    }
    match KEYS.iter().find(|row| row.is_needed && !given.contains_key(row.name)) {
        Some(row) => Flaw::new(raw.get(), format!("is no field: it has no `{}`", row.name)),
        None => Flaw::new(raw.get(), "is no field: it has a key twice"),
    }
}
