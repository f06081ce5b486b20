//! The answers of a submission: a JSON object kept as the text it arrived in.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A map from field label to value (SPEC §2, `data`) as exact JSON text: key order, repeated keys,
/// escapes and the digits of numbers stay as they were sent.
///
/// ```
/// use formsvc_protocol::Answers;
/// let answers = Answers::parse(r#"{"Amount": 12.50, "Name": "Zo\u00eb"}"#)?;
/// assert_eq!(answers.as_json(), r#"{"Amount": 12.50, "Name": "Zo\u00eb"}"#);
/// assert_eq!(answers.get("Name").unwrap().as_str().as_deref(), Some("Zoë"));
/// assert_eq!(answers.get("Amount").unwrap().number_text(), Some("12.50"));
/// assert!(answers.get("E-mail").is_none());
/// # Ok::<(), formsvc_protocol::NotAnObject>(())
/// ```
///
/// The Debug output is the length of the text: answers do not belong in logs.
#[derive(Clone)]
pub struct Answers(Box<RawValue>);

/// One answer: a JSON value inside [`Answers`].
///
/// The Debug output is the length of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a>(&'a str);

impl Answers {
    /// Parses JSON text, which must be exactly one object.
    pub fn parse(json: impl Into<String>) -> Result<Self, NotAnObject> {
        RawValue::from_string(json.into()).and_then(Self::from_raw).map_err(NotAnObject)
    }

    fn from_raw<E: de::Error>(raw: Box<RawValue>) -> Result<Self, E> {
        if raw.get().starts_with('{') {
            Ok(Self(raw))
        } else {
            Err(E::custom("expected an object of answers"))
        }
    }

    /// Returns the exact text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Returns the answer to a label: the first one, if the label occurs more than once.
    pub fn get(&self, label: &str) -> Option<Answer<'_>> {
        self.fields().into_iter().find(|(known, _)| known == label).map(|(_, answer)| answer)
    }

    /// Returns label and answer of each field, in order; a repeated label is listed repeatedly. A
    /// label that contains a lone surrogate escape (`\ud800`) is given as its JSON literal.
    pub fn fields(&self) -> Vec<(Cow<'_, str>, Answer<'_>)> {
        let members =
            object_members(self.as_json()).expect("the text was checked to be one object");
        let members = members.into_iter();
        members.map(|(label, value)| (decode_string(label.get()), Answer(value.get()))).collect()
    }

    /// Deserializes the answers into a type of the caller. The error contains the JSON path.
    ///
    /// ```
    /// use formsvc_protocol::Answers;
    /// #[derive(Debug, serde::Deserialize)]
    /// struct Order {
    ///     #[serde(rename = "Amount")]
    ///     amount: u32,
    /// }
    /// let order: Order = Answers::parse(r#"{"Amount": 3}"#)?.to()?;
    /// assert_eq!(order.amount, 3);
    /// let error = Answers::parse(r#"{"Amount": "3"}"#)?.to::<Order>().unwrap_err();
    /// assert!(error.to_string().starts_with("answers do not match at `Amount`: invalid type"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, AnswersError> {
        deserialize(self.as_json())
    }
}

/// Returns name and value of each member of a JSON object, in order, with repeated names and as exact text.
/// Fails for text that is not one object. Nesting is not limited, because values are only skipped.
///
/// ```
/// let members = formsvc_protocol::object_members(r#"{"a": 1.50, "a":[]}"#)?;
/// let texts: Vec<_> = members.iter().map(|(name, value)| (name.get(), value.get())).collect();
/// assert_eq!(texts, [("\"a\"", "1.50"), ("\"a\"", "[]")]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn object_members(json: &str) -> serde_json::Result<Vec<(&RawValue, &RawValue)>> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(&'de RawValue, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            std::iter::from_fn(|| map.next_entry().transpose()).collect()
        }
    }

    let mut json = serde_json::Deserializer::from_str(json);
    let members = json.deserialize_map(Members)?;
    json.end().map(|()| members)
}

impl<'a> Answer<'a> {
    /// Returns the exact JSON text.
    pub fn as_json(self) -> &'a str {
        self.0
    }

    /// Returns the text of a JSON string, unescaped; `None` for any other value. A text that
    /// contains a lone surrogate escape (`\ud800`) is returned as its JSON literal.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.0.starts_with('"').then(|| decode_string(self.0))
    }

    /// Returns the value of `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        self.0.parse().ok()
    }

    /// Returns a whole number that fits into 64 bits. `1.0` and `1e2` are no such numbers.
    pub fn as_i64(self) -> Option<i64> {
        self.number_text()?.parse().ok()
    }

    /// Returns a number as the nearest `f64`; `None` for any other value, and for a number beyond the
    /// range of `f64`. [`number_text`](Self::number_text) is exact.
    pub fn as_f64(self) -> Option<f64> {
        self.number_text()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns the exact digits of a number, of any size and precision.
    pub fn number_text(self) -> Option<&'a str> {
        self.0.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(self.0)
    }

    /// Returns true for `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns the items of an array, such as the choices of a checkbox group.
    pub fn items(self) -> Option<Vec<Self>> {
        let items: Vec<&'a RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(|item| Self(item.get())).collect())
    }

    /// Deserializes the answer into a type of the caller. The error contains the JSON path.
    pub fn to<T: DeserializeOwned>(self) -> Result<T, AnswersError> {
        deserialize(self.0)
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answers({} bytes)", self.as_json().len())
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({} bytes)", self.0.len())
    }
}

/// Compares the texts, not their meaning.
impl PartialEq for Answers {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Reads an empty array as no answers: PHP writes an empty map like that. [`Answers::parse`] refuses it.
impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let array = raw.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if array.is_some_and(|items| items.trim_ascii().is_empty()) {
            return RawValue::from_string("{}".to_owned()).map(Self).map_err(de::Error::custom);
        }
        Self::from_raw(raw)
    }
}

/// Answers that do not match the type they were deserialized into.
///
/// The message contains the path and serde's reason, which may quote an answer.
#[derive(Debug)]
pub struct AnswersError {
    path: String,
    /// Part of the message, so that it is no source: both would be printed.
    reason: serde_json::Error,
}

impl AnswersError {
    /// Returns the JSON path of the mismatch, such as `Address.City` or `Choices[2]`; `.` for the
    /// whole value.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for AnswersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answers do not match at `{}`: {}", self.path, self.reason)
    }
}

impl std::error::Error for AnswersError {}

fn deserialize<T: DeserializeOwned>(json: &str) -> Result<T, AnswersError> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json)).map_err(
        |error| AnswersError { path: error.path().to_string(), reason: error.into_inner() },
    )
}

/// The text is not one JSON object.
#[derive(Debug)]
pub struct NotAnObject(serde_json::Error);

impl fmt::Display for NotAnObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a JSON object of answers")
    }
}

impl std::error::Error for NotAnObject {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Returns the text of a JSON string literal. A literal that contains a lone surrogate escape
/// (`\ud800`) has no text and is returned unchanged, as is any value that is not a string.
///
/// ```
/// use formsvc_protocol::decode_string;
/// assert_eq!(decode_string(r#""Zo\u00eb""#), "Zoë");
/// assert_eq!(decode_string(r#""\ud800""#), r#""\ud800""#);
/// ```
pub fn decode_string(literal: &str) -> Cow<'_, str> {
    match literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) if !text.contains('\\') => Cow::Borrowed(text),
        _ => serde_json::from_str::<String>(literal).map_or(Cow::Borrowed(literal), Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_byte_for_byte() {
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
    fn empty_array_on_the_wire_is_no_answers() {
        for text in ["[]", "[ \n]"] {
            assert_eq!(serde_json::from_str::<Answers>(text).unwrap().as_json(), "{}");
        }
        for text in ["[1]", "[[]]", "null", "\"[]\""] {
            assert!(serde_json::from_str::<Answers>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_keep_order_repeats_and_escapes() {
        let answers = Answers::parse(r#"{"z":1,"a\n":"x","z":null}"#).unwrap();
        let fields: Vec<_> = answers.fields().into_iter().map(|(k, v)| (k, v.as_json())).collect();
        assert_eq!(fields, [("z".into(), "1"), ("a\n".into(), "\"x\""), ("z".into(), "null")]);
        let answers = Answers::parse(r#"{"\ud800":1}"#).unwrap();
        assert_eq!(answers.fields()[0].0, r#""\ud800""#);
    }

    #[test]
    fn get_returns_the_first_answer_to_a_label() {
        let answers = Answers::parse(r#"{"a":1,"\u0062":2,"a":3}"#).unwrap();
        assert_eq!(answers.get("a").unwrap().as_i64(), Some(1));
        assert_eq!(answers.get("b").unwrap().as_i64(), Some(2));
        assert_eq!(answers.get("c"), None);
    }

    #[test]
    fn answer_accessors_match_one_kind_of_value_each() {
        let json =
            r#"{"a":"x\n","b":true,"c":-7,"d":12.50,"e":null,"f":[1,"y",[]],"g":{"k":1},"h":1e2}"#;
        let answers = Answers::parse(json).unwrap();
        let get = |label| answers.get(label).unwrap();
        let labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(
            labels.map(|l| get(l).as_str().is_some()).map(u8::from),
            [1, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(get("a").as_str().unwrap(), "x\n");
        assert_eq!(
            labels.map(|l| get(l).as_bool().is_some()).map(u8::from),
            [0, 1, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(
            labels.map(|l| get(l).as_i64().is_some()).map(u8::from),
            [0, 0, 1, 0, 0, 0, 0, 0]
        );
        let numbers = labels.map(|l| get(l).number_text());
        assert_eq!(numbers, [None, None, Some("-7"), Some("12.50"), None, None, None, Some("1e2")]);
        assert_eq!(labels.map(|l| get(l).is_null()).map(u8::from), [0, 0, 0, 0, 1, 0, 0, 0]);
        let items: Vec<_> = get("f").items().unwrap().into_iter().map(Answer::as_json).collect();
        assert_eq!(items, ["1", "\"y\"", "[]"]);
        assert!(get("g").items().is_none());
        assert_eq!(get("f").items().unwrap()[0].to::<u8>().unwrap(), 1);
    }

    #[test]
    fn type_mismatch_error_contains_path_and_reason() {
        let answers = Answers::parse(r#"{"Choices":["a",2]}"#).unwrap();
        let error = answers.to::<std::collections::HashMap<String, Vec<String>>>().unwrap_err();
        assert_eq!(error.path(), "Choices[1]");
        let message = error.to_string();
        assert!(message.contains("`Choices[1]`: invalid type: integer `2`"), "{message}");
    }
}
