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
#[derive(Clone, Debug)]
pub struct Answers(Box<RawValue>);

/// The text is not one JSON object.
#[derive(Debug)]
pub struct NotAnObject(serde_json::Error);

impl Answers {
    /// Takes JSON text, which must be exactly one object.
    pub fn parse(json: impl Into<String>) -> Result<Self, NotAnObject> {
        RawValue::from_string(json.into()).and_then(Self::from_raw).map_err(NotAnObject)
    }

    fn from_raw<E: serde::de::Error>(raw: Box<RawValue>) -> Result<Self, E> {
        if raw.get().starts_with('{') {
            Ok(Self(raw))
        } else {
            Err(E::custom(format_args!("expected an object of answers, found {}", kind_of(&raw))))
        }
    }

    /// The exact text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Label and raw value of each answer, in order; a label that stands twice is listed twice.
    pub fn fields(&self) -> Vec<(Cow<'_, str>, &RawValue)> {
        fields(&self.0)
    }

    /// The answers as a type of the caller's.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
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

fn fields(object: &RawValue) -> Vec<(Cow<'_, str>, &RawValue)> {
    struct Fields;
    impl<'de> Visitor<'de> for Fields {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some((Label(label), value)) = map.next_entry::<Label<'de>, &'de RawValue>()? {
                fields.push((label, value));
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(object.get());
    // A label can hold an escaped lone surrogate, which is JSON but not text; parsing kept the
    // object whole, so what is listed is what can be read of it.
    deserializer.deserialize_map(Fields).unwrap_or_default()
}

/// A key, borrowed where it has no escapes.
struct Label<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Label<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Label<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a label")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Label(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Label(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
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
    }
}
