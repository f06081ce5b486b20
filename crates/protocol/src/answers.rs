//! The answers of a submission: a JSON object kept as the text it arrived in.

use std::borrow::Cow;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A map from field label to value (SPEC §2, `data`) as exact JSON text: key order, repeated keys,
/// escapes and the digits of numbers stay as they were sent.
///
/// ```
/// use formsvc_protocol::Answers;
/// let answers = Answers::parse(r#"{"Amount": 12.50, "Name": "Zoë"}"#)?;
/// assert_eq!(answers.as_json(), r#"{"Amount": 12.50, "Name": "Zoë"}"#);
/// assert_eq!(answers.fields()[0].1.get(), "12.50");
/// # Ok::<(), formsvc_protocol::NotAnObject>(())
/// ```
///
/// Its Debug says how long the text is and shows none of it: answers do not belong in logs.
#[derive(Clone)]
pub struct Answers(Box<RawValue>);

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answers({} bytes)", self.as_json().len())
    }
}

/// The text is not one JSON object.
#[derive(Debug)]
pub struct NotAnObject(serde_json::Error);

impl Answers {
    /// Takes JSON text, which must be exactly one object.
    pub fn parse(json: impl Into<String>) -> Result<Self, NotAnObject> {
        RawValue::from_string(json.into()).and_then(Self::from_raw).map_err(NotAnObject)
    }

    fn from_raw<E: serde::de::Error>(raw: Box<RawValue>) -> Result<Self, E> {
        check(&raw).map(|()| Self(raw))
    }

    /// Whether a JSON value is an object of answers, without keeping it.
    pub fn check(value: &RawValue) -> Result<(), NotAnObject> {
        check(value).map_err(NotAnObject)
    }

    /// The exact text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Label and raw value of each answer, in order; a label that stands twice is listed twice. A
    /// label that is JSON but not Unicode (a lone `\ud800` escape) is given as its JSON literal,
    /// quotes and all.
    pub fn fields(&self) -> Vec<(Cow<'_, str>, &RawValue)> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of answers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((label, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                    fields.push((text_of(label.get()), value));
                }
                Ok(fields)
            }
        }
        serde_json::Deserializer::from_str(self.as_json())
            .deserialize_map(Fields)
            .expect("the text was checked to be one object")
    }

    /// The answers as a type of the caller's.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
    }
}

fn check<E: serde::de::Error>(value: &RawValue) -> Result<(), E> {
    if value.get().starts_with('{') {
        Ok(())
    } else {
        Err(E::custom(format_args!("expected an object of answers, found {}", kind_of(value))))
    }
}

/// What kind of JSON value a text is, for messages.
fn kind_of(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// The text of a JSON string literal; the literal itself when it is not Unicode (a lone `\ud800`
/// escape) or no string. Copies nothing unless there are escapes.
///
/// ```
/// use formsvc_protocol::text_of;
/// assert_eq!(text_of(r#""Zo\u00eb""#), "Zoë");
/// assert_eq!(text_of(r#""\ud800""#), r#""\ud800""#);
/// ```
pub fn text_of(literal: &str) -> Cow<'_, str> {
    match literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) if memchr::memchr(b'\\', text.as_bytes()).is_none() => Cow::Borrowed(text),
        _ => serde_json::from_str::<String>(literal).map_or(Cow::Borrowed(literal), Cow::Owned),
    }
}

impl PartialEq for Answers {
    /// Equal text, not equal meaning.
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(Box::<RawValue>::deserialize(deserializer)?)
    }
}

impl std::fmt::Display for NotAnObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a JSON object of answers")
    }
}

impl std::error::Error for NotAnObject {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_to_the_letter() {
        for text in [
            "{}",
            r#"{"b":1,"a":2,"b":3}"#,
            r#"{"n":12345678901234567890123.4500,"e":1E400}"#,
            r#"{ "spaced" : [ 1 , 2 ] }"#,
            r#"{"\u00e9\ud83d\ude00":"\/"}"#,
        ] {
            let answers = Answers::parse(text).unwrap();
            assert_eq!(answers.as_json(), text);
            assert_eq!(serde_json::to_string(&answers).unwrap(), text);
        }
    }

    #[test]
    fn anything_but_one_object_is_refused() {
        for text in ["", "[]", "1", "null", "\"{}\"", "{} {}", "{", "{\"a\"}", "{'a':1}"] {
            assert!(Answers::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_keep_order_repeats_and_escapes() {
        let answers = Answers::parse(r#"{"z":1,"a\n":"x","z":null}"#).unwrap();
        let fields: Vec<_> = answers.fields().into_iter().map(|(k, v)| (k, v.get())).collect();
        assert_eq!(fields, [("z".into(), "1"), ("a\n".into(), "\"x\""), ("z".into(), "null")]);
        let answers = Answers::parse(r#"{"\ud800":1}"#).unwrap();
        assert_eq!(answers.fields()[0].0, r#""\ud800""#);
    }
}
