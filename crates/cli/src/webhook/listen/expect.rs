//! `--expect`: a small language about deliveries. `event=submission.created && status<300`.

use std::cmp::Ordering;

use formsvc_contract::members;
use formsvc_protocol::decode_string;
use serde_json::Value;
use serde_json::value::RawValue;

use super::delivery_fields::{Compared, FieldRow, compared};
use super::exact_number::ExactNumber;
use super::happened::Delivered;

/// Longest expression, in bytes.
const LEN_MAX: usize = 4_096;
/// Characters of a value that are told.
const SHOWN_MAX: usize = 200;
/// What every refusal ends with.
const RULE: &str = "an expression is `FIELD OP VALUE`, joined by `&&`, such as \
    'event=submission.created && status<300'";

/// An expression that was read.
#[derive(Clone, Debug)]
pub(crate) struct Expect {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
struct Term {
    field: Field,
    op: Op,
    /// What it is compared with: a number where the field is one.
    value: String,
    number: Option<ExactNumber>,
}

#[derive(Clone, Debug)]
enum Field {
    Named(String, &'static FieldRow),
    /// A JSON pointer into the body: `/data/Name`.
    Pointer(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Is,
    IsNot,
    Less,
    LessOrIs,
    More,
    MoreOrIs,
    Contains,
}

impl Op {
    /// Whether it compares numbers alone.
    fn orders(self) -> bool {
        matches!(self, Self::Less | Self::LessOrIs | Self::More | Self::MoreOrIs)
    }

    /// True if it holds for a number that compares so with the value; false for `~`, which compares text.
    fn holds_for(self, ordering: Ordering) -> bool {
        match self {
            Self::Is => ordering.is_eq(),
            Self::IsNot => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrIs => ordering.is_le(),
            Self::More => ordering.is_gt(),
            Self::MoreOrIs => ordering.is_ge(),
            Self::Contains => false,
        }
    }
}

/// Operators as they are written, those first of which others are the beginning.
const OPS: [(&str, Op); 8] = [
    ("==", Op::Is),
    ("!=", Op::IsNot),
    ("<=", Op::LessOrIs),
    (">=", Op::MoreOrIs),
    ("=", Op::Is),
    ("<", Op::Less),
    (">", Op::More),
    ("~", Op::Contains),
];

/// What a field holds.
enum Found {
    Text(String),
    /// A number, as it is spelled.
    Number(String),
    Nothing,
}

/// What an expression is made of, for `--help`.
pub(crate) fn help(what: &str) -> String {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    for (name, row) in compared() {
        let list =
            if matches!(row.compared, Compared::Number(_)) { &mut numbers } else { &mut texts };
        list.push(name);
    }
    format!(
        "{what}\n\nAn expression is FIELD OP VALUE, several joined by `&&`. Texts ({}): {}. Numbers ({}): \
         {}. And places in the body, such as /data/Name. A value with spaces or `&&` in it stands in \
         quotes. `--schema` says what each field is.",
        signs(|op| !op.orders()),
        texts.join(", "),
        signs(|op| op != Op::Contains),
        numbers.join(", "),
    )
}

/// The signs of some operators, each once.
fn signs(is_meant: impl Fn(Op) -> bool) -> String {
    let meant = OPS.iter().filter(|(sign, op)| *sign != "==" && is_meant(*op));
    meant.map(|(sign, _)| *sign).collect::<Vec<_>>().join(" ")
}

/// Reads an expression.
pub(crate) fn expect(text: &str) -> Result<Expect, String> {
    if text.len() > LEN_MAX {
        return Err(format!("expected at most {LEN_MAX} bytes"));
    }
    let terms = split(text)?.into_iter().map(term).collect::<Result<_, _>>()?;
    Ok(Expect { text: text.trim().to_owned(), terms })
}

/// The terms between `&&`, which quotes may hold.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut terms, mut begin, mut quote) = (Vec::new(), 0, None);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '&') if chars.peek().is_some_and(|(_, next)| *next == '&') => {
                terms.push(&text[begin..at]);
                chars.next();
                begin = at + 2;
            }
            _ => {}
        }
    }
    if let Some(quote) = quote {
        return Err(format!("a {quote} has no other end; {RULE}"));
    }
    terms.push(&text[begin..]);
    Ok(terms)
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    let at = text.find(['=', '!', '<', '>', '~']).filter(|at| *at > 0);
    let at = at.ok_or_else(|| format!("`{text}` compares nothing; {RULE}"))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let (sign, op) = OPS
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .ok_or_else(|| format!("`{text}` has no operator: {}", signs(|_| true)))?;
    let value = unquoted(rest[sign.len()..].trim());
    if value.is_empty() && rest[sign.len()..].trim().is_empty() {
        return Err(format!("`{name}` is compared with nothing; an empty text is ''"));
    }
    let field = field(name)?;
    let is_text =
        matches!(&field, Field::Named(_, row) if matches!(row.compared, Compared::Text(_)));
    let is_number = matches!(field, Field::Named(..)) && !is_text;
    let orders = op.orders();
    let number = ExactNumber::parse(&value);
    if number.is_none() && is_number {
        return Err(format!("`{name}` is a number, and `{value}` is none"));
    }
    if is_text && orders {
        return Err(format!("`{name}` is a text, which `{sign}` does not compare; = != ~ do"));
    }
    if orders && number.is_none() {
        return Err(format!("`{sign}` compares numbers, and `{value}` is none"));
    }
    if name == "verdict" && op != Op::Contains {
        known_verdict(&value)?;
    }
    Ok(Term { field, op, value, number })
}

fn field(name: &str) -> Result<Field, String> {
    if name.starts_with('/') {
        return Ok(Field::Pointer(name.to_owned()));
    }
    let found = compared().find(|(known, _)| known == name);
    found.map(|(name, row)| Field::Named(name, row)).ok_or_else(|| {
        let names: Vec<_> = compared().map(|(name, _)| name).collect();
        format!(
            "there is no field `{name}`; there are {}, and places in the body: /data/Name",
            names.join(", ")
        )
    })
}

fn known_verdict(name: &str) -> Result<(), String> {
    use crate::webhook::verdict::{VERDICTS, VerdictCode};
    if VerdictCode::of_name(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = VERDICTS.iter().map(|row| row.name).collect();
    Err(format!("there is no verdict `{name}`; there are {}", names.join(", ")))
}

fn unquoted(text: &str) -> String {
    let inner =
        ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(text).to_owned()
}

impl Expect {
    /// Whether it says something about this field.
    pub(super) fn names(&self, field: &str) -> bool {
        let is_it = |term: &Term| matches!(&term.field, Field::Named(name, _) if name == field);
        self.terms.iter().any(is_it)
    }

    /// As it was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What of a delivery is not as expected: the first such field, and what it is.
    pub(crate) fn differs(&self, told: &Delivered) -> Option<String> {
        let term = self.terms.iter().find(|term| !term.is_met_by(told))?;
        let (Field::Named(name, _) | Field::Pointer(name)) = &term.field;
        Some(match term.found(told) {
            Found::Nothing => format!("it has no `{name}`"),
            Found::Number(number) => format!("its `{name}` is {}", shortened(&number)),
            Found::Text(text) => format!("its `{name}` is `{}`", shortened(&text)),
        })
    }
}

impl Term {
    fn found(&self, told: &Delivered) -> Found {
        match &self.field {
            Field::Named(_, row) => match row.compared {
                Compared::Number(get) => {
                    get(told).map_or(Found::Nothing, |number| Found::Number(number.to_string()))
                }
                Compared::Text(get) => get(told).map_or(Found::Nothing, Found::Text),
                Compared::Parts(_) | Compared::No => Found::Nothing,
            },
            Field::Pointer(pointer) => pointed(&told.capture.received.body, pointer),
        }
    }

    fn is_met_by(&self, told: &Delivered) -> bool {
        match self.found(told) {
            // A missing value differs from every value.
            Found::Nothing => self.op == Op::IsNot,
            Found::Number(found) => match (&self.number, ExactNumber::parse(&found)) {
                (Some(number), Some(found)) if self.op != Op::Contains => {
                    self.op.holds_for(found.cmp(number))
                }
                _ => self.compares(&found),
            },
            Found::Text(found) => self.compares(&found),
        }
    }

    fn compares(&self, found: &str) -> bool {
        match self.op {
            Op::Is => found == self.value,
            Op::IsNot => found != self.value,
            Op::Contains => found.contains(&self.value),
            // A text in the body, where a number was expected.
            _ => false,
        }
    }
}

/// A value as it is told: strangers may write as much as they like.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn pointed(body: &[u8], pointer: &str) -> Found {
    let Some(literal) = literal_at(body, pointer) else { return Found::Nothing };
    match literal.as_bytes().first() {
        Some(b'"') => Found::Text(decode_string(literal).into_owned()),
        Some(b'-' | b'0'..=b'9') => Found::Number(literal.to_owned()),
        // Lists and objects are compared without white space; as they are spelled if they hold numbers
        // or depths that a `Value` does not.
        _ => Found::Text(
            serde_json::from_str::<Value>(literal)
                .map_or_else(|_| literal.to_owned(), |value| value.to_string()),
        ),
    }
}

/// The JSON literal that a pointer leads to. Escapes of RFC 6901 cannot occur in it, because `~` is an
/// operator. Does not recurse, and keeps numbers as spelled.
fn literal_at<'b>(body: &'b [u8], pointer: &str) -> Option<&'b str> {
    let mut value: &'b RawValue = serde_json::from_slice(body).ok()?;
    for name in pointer.split('/').skip(1) {
        value = if value.get().starts_with('[') {
            let is_index = name == "0" || !name.starts_with(['0', '+']);
            let index = name.parse::<usize>().ok().filter(|_| is_index)?;
            *members::of_array(value.get()).ok()?.get(index)?
        } else {
            // The last of several members with one name counts, as for most JSON readers.
            let members = members::of_object(value.get()).ok()?;
            members.into_iter().rev().find(|(label, _)| decode_string(label.get()) == name)?.1
        };
    }
    Some(value.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::listen::samples::{BODY, Sample};

    fn holds(text: &str) -> bool {
        expect(text).unwrap().differs(&Sample::of(BODY).attempt(2, 11, false).told()).is_none()
    }

    #[test]
    fn terms_compare_fields_and_places_in_the_body() {
        for (text, met) in [
            ("event=submission.created && status<300 && verdict==valid", true),
            ("event = submission.created&&status<200", false),
            ("submission_id='sub_1'", true),
            ("submission_id=\"sub_2\"", false),
            ("submission_id != sub_2", true),
            ("submission_id~ub_", true),
            ("status>=200 && status<=200 && status!=201 && status=200", true),
            ("status>200", false),
            ("attempt=2 && gap_ms>10500 && duplicate=false", true),
            ("took_ms<41.5 && took_ms>40.5 && body_size=157 && age_s=1", true),
            (
                "secret=new && source=request && answered_by=listener && method=POST && request_target=/",
                true,
            ),
            ("/data/Name=Ada && /data/n=3 && /data/n<4", true),
            ("/data/Name<4", false),
            ("/data/Name='A && B'", false),
            ("/data/absent=1", false),
            ("/data/absent!=1", true),
            ("pause.fits=true", false),
        ] {
            assert_eq!(holds(text), met, "{text}");
        }
    }

    #[test]
    fn numbers_in_the_body_compare_exactly() {
        let body = r#"{"data":{"big":1e309,"low":-1e309,"id":9007199254740993,"price":1.10,
            "x":{"y":[1, 1e309]},"list":[ 7, "a" ],"s":"1e309"}}"#;
        let told = Sample::of(body).told();
        let holds = |text: &str| expect(text).unwrap().differs(&told).is_none();
        for (text, met) in [
            ("/data/big>2", true),
            ("/data/big<1e310", true),
            ("/data/big=10e308", true),
            ("/data/big!=1e309", false),
            ("/data/low<-2 && /data/low<0", true),
            ("/data/id=9007199254740993", true),
            ("/data/id=9007199254740992", false),
            ("/data/id>9007199254740992", true),
            ("/data/price=1.1", true),
            ("/data/price~1.10", true),
            ("/data/x/y/1>2", true),
            ("/data/x/y/01>2", false),
            ("/data/x/y/2=1", false),
            ("/data/x~1e309", true),
            ("/data/list='[7,\"a\"]'", true),
            ("/data/s>2", false),
            ("/data/s=1e309", true),
        ] {
            assert_eq!(holds(text), met, "{text}");
        }
        let deep = format!(r#"{{"a":{}{},"n":3}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let mut sample = Sample::of(BODY);
        sample.received.body = deep.into();
        assert_eq!(expect("/n>2 && /a~[[").unwrap().differs(&sample.told()), None);
    }

    #[test]
    fn what_differs_is_told_by_the_first_field_that_does() {
        let told = Sample::of(BODY).told();
        let differs = |text: &str| expect(text).unwrap().differs(&told);
        assert_eq!(differs("status=200"), None);
        assert_eq!(differs("age_s=1 && status=201").as_deref(), Some("its `status` is 200"));
        assert_eq!(differs("event=x").as_deref(), Some("its `event` is `submission.created`"));
        let mut long = Sample::of(BODY);
        long.received.event = Some("é".repeat(100_000));
        let text = expect("event=x").unwrap().differs(&long.told()).unwrap();
        assert_eq!(text, format!("its `event` is `{}…`", "é".repeat(SHOWN_MAX)));
        assert_eq!(differs("pause.retry=1").as_deref(), Some("it has no `pause.retry`"));
        assert_eq!(differs("gap_ms<1").as_deref(), Some("it has no `gap_ms`"));
    }

    #[test]
    fn all_that_is_compared_is_in_the_help() {
        let help = help("What it does");
        for (name, row) in compared() {
            assert!(help.contains(&name), "{name}");
            let (number, text) = (format!("{name}<1"), format!("{name}~1"));
            let is_number = matches!(row.compared, Compared::Number(_));
            assert_eq!(
                (expect(&number).is_ok(), expect(&text).is_ok()),
                (is_number, true),
                "{name}"
            );
        }
        assert!(OPS.iter().all(|(sign, _)| *sign == "==" || help.contains(sign)), "{help}");
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_rule() {
        for (text, why) in [
            ("", "compares nothing"),
            ("status", "compares nothing"),
            ("=200", "compares nothing"),
            ("status<", "is compared with nothing"),
            ("status<300 &&", "compares nothing"),
            ("status!200", "has no operator"),
            ("stauts<300", "there is no field `stauts`; there are source,"),
            ("status<ok", "`status` is a number, and `ok` is none"),
            ("status=nan", "is a number, and `nan` is none"),
            ("event>3", "`event` is a text"),
            ("/data/n<x", "`<` compares numbers"),
            ("verdict=fine", "there is no verdict `fine`; there are valid,"),
            ("event='x", "has no other end"),
            (&"x".repeat(LEN_MAX + 1), "at most"),
        ] {
            let refused = expect(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
