//! JSON objects of a file, a line each or in one array; their text is kept as it stands.

use std::io::{BufRead, Read};

use formsvc_protocol::Answers;
use formsvc_protocol::limits::ANSWERS_MAX;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::meter::Meter;
use super::{Flaw, ImportError, too_long};
use crate::fields::{depth, has_no_text};
use crate::json_number::{UnfitNumber, unfit_numbers};
use crate::json_text::json_text;
use crate::printable::Excerpt;

/// Longest line read, in bytes: the longest answers and an end of line.
const LINE_MAX: usize = ANSWERS_MAX + 2;
/// Bytes read for one element, at most: the longest answers, the comma before them, and the byte after.
const ELEMENT_MAX: usize = ANSWERS_MAX + 1_024;

/// How deep objects and lists may be nested, the object of answers counted.
const DEPTH_MAX: usize = 64;

/// Takes each imported object.
type Keep<'a> = &'a mut dyn FnMut(Answers) -> Result<(), ImportError>;

/// One object a line.
pub(super) fn lines(mut input: impl BufRead, keep: Keep<'_>) -> Result<(), ImportError> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > ANSWERS_MAX {
            let rule = format!("begins a line of more than {} MiB", ANSWERS_MAX >> 20);
            return Err(Flaw::at_line(number, text, rule).into());
        }
        if text.is_empty() {
            continue;
        }
        let Ok(json) = std::str::from_utf8(text) else {
            return Err(Flaw::at_line(number, text, "is not UTF-8").into());
        };
        let answers = Answers::parse(json)
            .map_err(|error| Flaw::at_line(number, text, format!("is {error}{}", cause(&error))))?;
        check_readable(&answers, &format!("line {number}"))?;
        keep(answers)?;
    }
    Ok(())
}

/// Refuses answers that make their whole page unreadable to strict readers of JSON.
fn check_readable(answers: &Answers, place: &str) -> Result<(), Flaw> {
    let json = answers.as_json();
    let flaw = |rule| Err(Flaw::new(place, json.as_bytes(), rule));
    if depth(json) > DEPTH_MAX {
        return flaw(format!("begins answers that are nested more than {DEPTH_MAX} deep"));
    }
    if has_no_text(json) {
        return flaw("begins answers with half of a surrogate pair".to_owned());
    }
    match unfit_numbers(answers).next() {
        None => Ok(()),
        Some(UnfitNumber { label, value, rule }) => {
            Err(Flaw::new(format!("{place}, field `{}`", Excerpt(&label)), value.as_bytes(), rule))
        }
    }
}

/// What the parser said of a text of one line, whose number in the file is another.
fn cause(error: &dyn std::error::Error) -> String {
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    format!(" ({})", said.replace("at line 1 column", "at column"))
}

/// One array of objects, or of texts that answer the question `label`.
pub(super) fn array(
    input: impl Read,
    label: Option<&str>,
    keep: Keep<'_>,
) -> Result<(), ImportError> {
    let (mut failed, mut number, meter) = (None, 0, Meter::new(ELEMENT_MAX));
    let mut parser = serde_json::Deserializer::from_reader(meter.read(input));
    let elements =
        Elements { label, keep, failed: &mut failed, number: &mut number, meter: &meter };
    let parsed = elements.deserialize(&mut parser).and_then(|()| parser.end());
    match (failed, parsed) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) if meter.is_spent() => {
            let rule = format!("begins an element of more than {} MiB", ANSWERS_MAX >> 20);
            Err(Flaw::new(format!("element {number}"), &begun(meter.start()), rule).into())
        }
        (None, Err(error)) if error.is_io() => Err(ImportError::Read(error.into())),
        (None, Err(error)) => Err(ImportError::NotAnArray(Box::new(error))),
    }
}

/// Takes the elements of an array one by one.
struct Elements<'a, 'k> {
    label: Option<&'a str>,
    keep: Keep<'k>,
    /// Why the import ends, when it is not the parser that ends it.
    failed: &'a mut Option<ImportError>,
    /// The element that is read, from 1.
    number: &'a mut u64,
    meter: &'a Meter,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        loop {
            *self.number += 1;
            self.meter.renew();
            let Some(element) = elements.next_element::<Box<RawValue>>()? else {
                return Ok(());
            };
            let kept = answers(&element, *self.number, self.label)
                .map_err(ImportError::from)
                .and_then(|answers| (self.keep)(answers));
            if let Err(error) = kept {
                *self.failed = Some(error);
                return Err(A::Error::custom("the import ended"));
            }
        }
    }
}

/// What was read of an element, without the comma and white space before it.
fn begun(read: Vec<u8>) -> Vec<u8> {
    read.into_iter().skip_while(|byte| byte.is_ascii_whitespace() || *byte == b',').collect()
}

fn answers(element: &RawValue, number: u64, label: Option<&str>) -> Result<Answers, Flaw> {
    let text = element.get();
    let flaw = |rule: String| Flaw::new(format!("element {number}"), text.as_bytes(), rule);
    let json = match (text.as_bytes().first(), label) {
        (Some(b'{'), _) => text.to_owned(),
        (Some(b'"'), Some(label)) => {
            format!("{{{}:{text}}}", json_text(label))
        }
        (Some(b'"'), None) => {
            return Err(flaw("is a text, and no label for texts was given".into()));
        }
        _ => return Err(flaw("is neither an object nor a text".into())),
    };
    if json.len() > ANSWERS_MAX {
        return Err(flaw(format!("begins an element {}", too_long(json.len()))));
    }
    let answers = Answers::parse(json).map_err(|_| flaw("is not a JSON object".into()))?;
    check_readable(&answers, &format!("element {number}")).map(|()| answers)
}
