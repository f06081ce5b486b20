//! Values and texts of cells, and types of columns.

use std::borrow::Cow;

use formsvc_protocol::decode_string;
use serde_json::value::RawValue;

/// The text of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// True for free text, to which the formula guard applies. False for JSON numbers, booleans,
    /// lists, objects and null, which cannot be formulas.
    pub free: bool,
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No answer, or null.
    Empty,
    /// Text.
    Text(Cow<'a, str>),
    /// A number with its exact digits.
    Number(&'a str),
    /// `true` or `false`.
    Boolean(bool),
    /// A list or an object as JSON text.
    Json(Cow<'a, str>),
    /// A time: the text of the service and microseconds since 1970.
    Time(&'a str, i64),
}

impl<'a> Value<'a> {
    /// Returns the value of JSON text. Text with a lone surrogate escape (`\ud800`) stays a literal.
    pub fn parse(json: &'a str) -> Self {
        match json.as_bytes().first() {
            Some(b'"') => Self::Text(decode_string(json)),
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'[' | b'{') => Self::Json(Cow::Borrowed(json)),
            Some(b'-' | b'0'..=b'9') => Self::Number(json),
            _ => Self::Empty,
        }
    }

    /// Returns the text of the cell.
    #[inline]
    pub fn text(&self) -> &str {
        match self {
            Self::Empty => "",
            Self::Text(text) | Self::Json(text) => text,
            Self::Number(text) | Self::Time(text, _) => text,
            Self::Boolean(true) => "true",
            Self::Boolean(false) => "false",
        }
    }

    /// Returns the value as a cell of text.
    #[inline]
    pub fn into_cell(self) -> Cell<'a> {
        let free = matches!(self, Self::Text(_));
        let text = match self {
            Self::Text(text) | Self::Json(text) => text,
            Self::Number(text) | Self::Time(text, _) => text.into(),
            Self::Empty => "".into(),
            Self::Boolean(value) => if value { "true" } else { "false" }.into(),
        };
        Cell { text, free }
    }
}

/// Returns the cell of an answer, given as JSON: text without quotation marks, numbers with their
/// exact digits, `true` and `false`, nothing for null, JSON for lists and objects.
///
/// Text that contains a lone surrogate escape (`\ud800`) stays a JSON literal.
pub fn cell(json: &str) -> Cell<'_> {
    Value::parse(json).into_cell()
}

/// Joins the items of a list; `None` if the cell could not be split again.
pub(crate) fn join(json: &str) -> Option<Value<'static>> {
    let texts = plain_items(json)?;
    let is_ambiguous = texts.is_empty() || texts.iter().any(|text| text.contains(';'));
    (!is_ambiguous).then(|| Value::Text(texts.join("; ").into()))
}

/// Returns the texts of the items of a list; `None` for any other value, and for a list with an item that
/// is no string, number or boolean.
pub(crate) fn plain_items(json: &str) -> Option<Vec<Cow<'_, str>>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    let texts = items.into_iter().map(|item| match Value::parse(item.get()) {
        Value::Empty | Value::Json(_) => None,
        value => Some(value.into_cell().text),
    });
    texts.collect()
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Only `true` and `false`.
    Boolean,
    /// Only integers of 64 bits.
    Integer,
    /// Only numbers that a double holds with all their digits.
    Real,
    /// A time in microseconds since 1970.
    Time,
    /// Everything else: any value as its text.
    Text,
}

/// The types of the values in a column; empty without values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeSet(u8);

impl TypeSet {
    const BOOLEAN: Self = Self(1);
    /// Integers that a double holds exactly, too.
    const SMALL_INTEGER: Self = Self(2);
    const INTEGER: Self = Self(4);
    const REAL: Self = Self(8);
    pub(crate) const TEXT: Self = Self(16);
    /// Other numbers of at most 300 bytes, with at most three digits in the exponent.
    const DECIMAL: Self = Self(32);

    /// Returns a number to store, which [`from_bits`](Self::from_bits) takes. The number of a union is
    /// the bitwise or of both numbers.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Returns the types of a stored number.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Adds the type of a JSON value; null has none.
    pub fn add(&mut self, json: &str) {
        self.0 |= match json.as_bytes().first() {
            Some(b't' | b'f') => Self::BOOLEAN.0,
            Some(b'-' | b'0'..=b'9') if self.0 & Self::TEXT.0 == 0 => number_type(json).0,
            Some(b'n') | None => 0,
            Some(_) => Self::TEXT.0,
        };
    }

    /// Returns the type of a column with these values.
    pub fn column_type(self) -> ColumnType {
        const NUMBERS: u8 = TypeSet::SMALL_INTEGER.0 | TypeSet::INTEGER.0;
        const REALS: u8 = TypeSet::SMALL_INTEGER.0 | TypeSet::REAL.0;
        match self.0 {
            0 => ColumnType::Text,
            bits if bits == Self::BOOLEAN.0 => ColumnType::Boolean,
            bits if bits & !NUMBERS == 0 => ColumnType::Integer,
            bits if bits & !REALS == 0 => ColumnType::Real,
            _ => ColumnType::Text,
        }
    }

    /// Returns true if all values are decimal numbers of at most 300 bytes and three digits in the
    /// exponent, which SQL's `numeric` holds exactly.
    pub fn is_numeric(self) -> bool {
        self.0 != 0 && self.0 & (Self::BOOLEAN.0 | Self::TEXT.0) == 0
    }
}

fn number_type(json: &str) -> TypeSet {
    match exact_integer(json) {
        Some(integer) if integer.unsigned_abs() < 1_000_000_000_000_000 => TypeSet::SMALL_INTEGER,
        Some(_) => TypeSet::INTEGER,
        None if exact_double(json).is_some() => TypeSet::REAL,
        None if is_decimal(json) => TypeSet::DECIMAL,
        None => TypeSet::TEXT,
    }
}

fn is_decimal(number: &str) -> bool {
    let exponent = number.split_once(['e', 'E']).map_or("", |(_, exponent)| exponent);
    number.len() <= 300 && exponent.trim_start_matches(['+', '-']).len() <= 3
}

/// Returns an integer of 64 bits, written without fraction and exponent.
pub fn exact_integer(number: &str) -> Option<i64> {
    // A negative zero would lose its sign.
    if number == "-0" { None } else { number.parse().ok() }
}

/// Returns a number that a double holds with all its digits: at most 15 significant digits, written
/// without exponent.
pub fn exact_double(number: &str) -> Option<f64> {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let significant = digits.trim_start_matches(['0', '.']);
    let count = significant.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    // A negative zero would lose its sign in most programs.
    let is_negative_zero = count == 0 && digits.len() < number.len();
    // 300 bytes keep the value within the range of normal doubles.
    (is_plain && count <= 15 && number.len() <= 300 && !is_negative_zero)
        .then(|| number.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(values: &[&str]) -> ColumnType {
        let mut types = TypeSet::default();
        for json in values {
            types.add(json);
        }
        types.column_type()
    }

    #[test]
    fn column_type_is_text_unless_all_values_agree() {
        assert_eq!(type_of(&["true", "null", "false"]), ColumnType::Boolean);
        assert_eq!(type_of(&["1", "-9223372036854775808"]), ColumnType::Integer);
        assert_eq!(type_of(&["1", "1.50"]), ColumnType::Real);
        assert_eq!(type_of(&["1.5", "9007199254740993"]), ColumnType::Text);
        assert_eq!(type_of(&["9223372036854775808"]), ColumnType::Text);
        assert_eq!(type_of(&["1", "\"1\""]), ColumnType::Text);
        assert_eq!(type_of(&["1", "true"]), ColumnType::Text);
        assert_eq!(type_of(&["1e5"]), ColumnType::Text);
        assert_eq!(type_of(&["null"]), ColumnType::Text);
    }

    #[test]
    fn numeric_takes_all_decimal_numbers_up_to_a_limit() {
        let is_numeric = |values: &[&str]| {
            let mut types = TypeSet::default();
            for json in values {
                types.add(json);
            }
            types.is_numeric()
        };
        let digits = "9".repeat(300);
        assert!(is_numeric(&["1", "9223372036854775807", "1.5", "1e-999", "null", &digits]));
        assert!(is_numeric(&["0.30000000000000004"]));
        for values in [&["null"][..], &["1", "true"], &["1", "\"1\""], &["1e1000"]] {
            assert!(!is_numeric(values), "{values:?}");
        }
        assert!(!is_numeric(&[&format!("{digits}0")]));
    }

    #[test]
    fn double_is_exact_with_fifteen_digits() {
        for number in ["0", "1.5", "-0.1", "123456789012345", "0.000123456789012345"] {
            assert!(exact_double(number).is_some(), "{number}");
        }
        for number in ["1234567890123456", "0.1234567890123456", "1e3", "-0", "-0.0", "1E400"] {
            assert!(exact_double(number).is_none(), "{number}");
        }
    }

    #[test]
    fn list_is_joined_only_if_items_can_be_told_apart() {
        assert_eq!(join(r#"["a", 1, true]"#), Some(Value::Text("a; 1; true".into())));
        for json in [r#"["a; b"]"#, "[[1]]", "[null]", "[]", r#"{"a":1}"#] {
            assert_eq!(join(json), None, "{json}");
        }
    }

    fn text(json: &str) -> String {
        cell(json).text.into_owned()
    }

    #[test]
    fn answers_become_readable_text() {
        assert_eq!(text(r#""plain""#), "plain");
        assert_eq!(text(r#""tab\tquote\" \u00e9""#), "tab\tquote\" é");
        assert_eq!(text("-0.10e+400"), "-0.10e+400");
        assert_eq!(text("123456789012345678901234567890"), "123456789012345678901234567890");
        assert_eq!(text("true"), "true");
        assert_eq!(text("null"), "");
        assert_eq!(text(r#"["a", "b"]"#), r#"["a", "b"]"#);
        assert_eq!(text(r#"{"k":[]}"#), r#"{"k":[]}"#);
        assert_eq!(text(r#""""#), "");
    }

    #[test]
    fn lone_surrogate_stays_a_literal() {
        assert_eq!(text(r#""a\ud800""#), r#""a\ud800""#);
    }
}
