//! Finding the parts of JSON text where they stand, for whoever must not pay for building values.
//! The text is checked to be JSON in the same pass.

mod json;
mod page;

pub use page::{PagePlaces, RowPlaces};

use std::ops::Range;

/// A part of a text. 32 bits are enough: answers are capped far below 4 GiB (SPEC §8 has pages of 100
/// submissions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    start: u32,
    end: u32,
}

impl Place {
    /// The place of `part`, which was borrowed from `text`; `None` if it was not, or if the text is
    /// longer than 4 GiB.
    pub fn of(part: &str, text: &str) -> Option<Self> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Self::new(start, start + part.len()).filter(|_| start + part.len() <= text.len())
    }

    fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    /// The part. Panics if `text` is not the text the place was found in, and too short for it.
    pub fn within(self, text: &str) -> &str {
        &text[self.range()]
    }

    /// Bytes from the text's begin.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Where the label and the value of one answer stand, as JSON literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerPlace {
    label: Place,
    value: Place,
    plain: bool,
}

/// A value as it is spelled in JSON. Its Debug shows only how long it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Literal<'a> {
    /// The spelling.
    pub text: &'a str,
    /// Whether it is neither a list nor an object and holds no backslash and no comma: between the
    /// quotation marks, if it has them, it reads as what it means.
    pub plain: bool,
}

impl std::fmt::Debug for Literal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Literal({} bytes, plain: {})", self.text.len(), self.plain)
    }
}

impl AnswerPlace {
    /// The places of all answers in the text of a JSON object, in order, repeated labels included;
    /// `None` when it is not exactly one object.
    ///
    /// ```
    /// use formsvc_protocol::{AnswerPlace, Literals};
    /// let answers = r#"{"Name": "Zo\u00eb", "Amount": 12.50}"#;
    /// let places = AnswerPlace::of(answers).ok_or("not an object")?;
    /// let literals: Vec<_> =
    ///     Literals::new(answers, &places).iter().map(|(label, value)| (label, value.text)).collect();
    /// assert_eq!(literals, [(r#""Name""#, r#""Zo\u00eb""#), (r#""Amount""#, "12.50")]);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn of(object: &str) -> Option<Vec<Self>> {
        Self::of_part(object, Place::new(0, object.len())?)
    }

    /// The same for an object that is a part of `text`.
    pub fn of_part(text: &str, object: Place) -> Option<Vec<Self>> {
        let (text, mut places) = (&text.as_bytes()[..object.range().end], Vec::new());
        let end =
            answers(text, json::blank(text, object.range().start), &mut places, &mut Vec::new())?;
        (json::blank(text, end) == text.len()).then_some(places)
    }
}

/// Notes the places of the answers of the object that begins at `at`; returns where it ends.
fn answers(
    text: &[u8],
    at: usize,
    places: &mut Vec<AnswerPlace>,
    open: &mut Vec<u8>,
) -> Option<usize> {
    json::members(text, at, |label, start| {
        let end = json::value(text, start, open)?;
        let label = Place::new(label.start, label.end)?;
        let value = Place::new(start, end.at)?;
        places.push(AnswerPlace { label, value, plain: end.plain });
        Some(end.at)
    })
}

/// The answers of a submission as JSON literals: what each label and each value is spelled like.
/// Its Debug shows only how many they are.
#[derive(Clone, Copy)]
pub struct Literals<'a> {
    text: &'a str,
    places: &'a [AnswerPlace],
}

impl std::fmt::Debug for Literals<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Literals({} answers)", self.places.len())
    }
}

impl<'a> Literals<'a> {
    /// The answers that were found at `places` of `text`.
    pub const fn new(text: &'a str, places: &'a [AnswerPlace]) -> Self {
        Self { text, places }
    }

    /// Label and value of each answer, in order; a label that stands twice comes twice.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, Literal<'a>)> {
        let Self { text, places } = self;
        places.iter().map(|place| {
            let value = Literal { text: place.value.within(text), plain: place.plain };
            (place.label.within(text), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Answers;

    fn literals(object: &str) -> Option<Vec<(String, String)>> {
        let places = AnswerPlace::of(object)?;
        let literals = Literals::new(object, &places).iter();
        Some(literals.map(|(label, value)| (label.into(), value.text.into())).collect())
    }

    #[test]
    fn literals_are_found_whatever_stands_around_and_inside_them() {
        let object = "\r\n{ \"a\" : 1.50 ,\"b\\\"}\":\"x\\\\\",\t\"c\":[\"]\",{\"d\":\"}\\\"\"}] \
                      ,\"é\":null,\"e\":{}}\n";
        let found = literals(object).unwrap();
        let found: Vec<_> = found.iter().map(|(label, value)| (&**label, &**value)).collect();
        assert_eq!(
            found,
            [
                ("\"a\"", "1.50"),
                ("\"b\\\"}\"", "\"x\\\\\""),
                ("\"c\"", "[\"]\",{\"d\":\"}\\\"\"}]"),
                ("\"é\"", "null"),
                ("\"e\"", "{}"),
            ]
        );
        assert_eq!(literals(" { } ").unwrap(), []);
        for text in ["", "[]", "1", "{} {}", "{}x", "{\"a\":1", "x{}"] {
            assert_eq!(literals(text), None, "{text}");
        }
    }

    #[test]
    fn a_part_of_another_text_has_no_place() {
        let (text, other) = (String::from("abc"), String::from("abc"));
        assert_eq!(Place::of(&text[1..], &text).unwrap().range(), 1..3);
        assert_eq!(Place::of(&other, &text), None);
        assert_eq!(Place::of(&text, &text[1..]), None);
        assert_eq!(Place::of(&text, &text[..2]), None);
    }

    /// Any JSON value, printed with white space where it may stand.
    fn json() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            "null|true|false|-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        scalar.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[ {} ]", items.join("\t,"))),
                object(inner),
            ]
        })
    }

    fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let member = (any::<String>(), value).prop_map(|(label, value)| {
            format!("{} :\n{value}", serde_json::to_string(&label).unwrap())
        });
        prop::collection::vec(member, 0..5)
            .prop_map(|members| format!("{{{}\r}}", members.join(", ")))
    }

    proptest! {
        #[test]
        fn it_finds_in_every_object_what_the_parser_finds(object in object(json())) {
            let answers = Answers::parse(object.as_str()).unwrap();
            let parsed = answers.fields();
            let found = literals(&object).unwrap();
            prop_assert_eq!(found.len(), parsed.len());
            for ((label, value), (parsed_label, parsed_value)) in found.iter().zip(&parsed) {
                prop_assert_eq!(&serde_json::from_str::<String>(label).unwrap(), parsed_label);
                prop_assert_eq!(value, parsed_value.get());
            }
        }

        #[test]
        fn it_never_panics(text in "[{}\\[\\]\",:\\\\ a1é]{0,40}") {
            literals(&text);
        }
    }
}
