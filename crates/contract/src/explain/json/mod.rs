//! JSON printed in another way: what a body may have been before something parsed it and wrote it again.
//! Every string and number keeps its spelling unless the style changes it.

mod print;
mod read;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use self::print::Printer;
use self::read::Reader;
use super::hypothesis::Hypothesis;
use super::number;
use super::work::{self, Kind};
use crate::{members, nesting};

/// The members of an event in the order in which the service writes them (SPEC §6).
const SERVICE_ORDER: [&str; 6] =
    ["event", "submission_id", "form_id", "form_title", "data", "created_at"];

/// How many times as long as it is a document is printed at most, and how much longer in any case.
const GROWTH_MAX: usize = 8;
const ROOM: usize = 64 << 10;

/// A text that was given up after so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong(pub(super) usize);

/// Why a body cannot be read as a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    NotJson,
    /// Nested deeper than [`nesting::DEPTH_MAX`].
    TooDeep,
}

/// A document, which is known to be JSON.
pub(super) struct Document<'a> {
    text: &'a str,
    root: Node<'a>,
    /// The layout that it has already.
    layout: Option<Layout>,
}

/// The layouts that are tried.
const LAYOUTS: [Layout; 5] = [
    Layout::Compact,
    Layout::Spaced,
    Layout::Pretty("  "),
    Layout::Pretty("    "),
    Layout::Pretty("\t"),
];

enum Node<'a> {
    /// A number, `true`, `false` or `null`.
    Word(&'a str),
    /// With its quotation marks.
    Text(&'a str),
    Array(Vec<Node<'a>>),
    Object(Vec<(&'a str, Node<'a>)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Compact,
    Spaced,
    Pretty(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Sorted,
    Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    Escaped,
    Plain,
}

/// How a document is printed; `None` leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    layout: Option<Layout>,
    order: Option<Order>,
    unicode: Option<Escapes>,
    slash: Option<Escapes>,
    html: bool,
    numbers: Option<number::Spelling>,
}

impl Style {
    /// What printing in it costs.
    pub(super) fn kind(&self) -> Kind {
        if self.order.is_some() { Kind::Sort } else { Kind::Print }
    }
}

/// The hypotheses that are tried by printing a document.
pub(super) const OF_PRINTING: [Hypothesis; 11] = [
    Hypothesis::JsonCompact,
    Hypothesis::JsonSpaced,
    Hypothesis::JsonPretty,
    Hypothesis::JsonSorted,
    Hypothesis::JsonOrder,
    Hypothesis::JsonSlashEscaped,
    Hypothesis::JsonSlashPlain,
    Hypothesis::JsonUnicodeEscaped,
    Hypothesis::JsonUnicodePlain,
    Hypothesis::JsonHtmlEscaped,
    Hypothesis::JsonNumbers,
];

/// Whether a body is an object with white space between its own parts, which the service never writes. What
/// stands within its values may have any: answers are kept as they came.
pub(super) fn is_laid_out(body: &[u8]) -> bool {
    let Some(text) = std::str::from_utf8(body).ok().map(str::trim) else { return false };
    let Ok(members) = members::of_object(text) else { return false };
    let parts = members.iter().flat_map(|(name, value)| [*name, *value]);
    let own: usize = parts.map(|part: &RawValue| part.get().len()).sum();
    // The braces, a colon each, and the commas between them.
    let marks = 2 + members.len() + members.len().saturating_sub(1);
    own + marks < text.len()
}

impl<'a> Document<'a> {
    /// Reads a document. Reading, printing and dropping it recurse, so its depth is checked first.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Unreadable> {
        work::note(Kind::Read, body.len());
        serde_json::from_slice::<IgnoredAny>(body).map_err(|_| Unreadable::NotJson)?;
        if nesting::depth(body) > nesting::DEPTH_MAX {
            return Err(Unreadable::TooDeep);
        }
        let text = std::str::from_utf8(body).map_err(|_| Unreadable::NotJson)?;
        let root = Reader::new(text).node().ok_or(Unreadable::NotJson)?;
        let mut document = Self { text, root, layout: None };
        let has = |layout: &Layout| {
            let style = Style { layout: Some(*layout), ..Style::default() };
            document.print(style, text.len()).is_ok_and(|printed| printed == text)
        };
        document.layout = LAYOUTS.into_iter().find(has);
        Ok(document)
    }

    /// What a style changes, and how.
    pub(super) fn changes(&self, style: &Style) -> Vec<(Hypothesis, Option<&'static str>)> {
        let layout = style.layout.filter(|layout| Some(*layout) != self.layout);
        let layout = layout.map(|layout| match layout {
            Layout::Compact => (Hypothesis::JsonCompact, None),
            Layout::Spaced => (Hypothesis::JsonSpaced, None),
            Layout::Pretty("\t") => (Hypothesis::JsonPretty, Some("by tabs")),
            Layout::Pretty("    ") => (Hypothesis::JsonPretty, Some("by 4 spaces")),
            Layout::Pretty(_) => (Hypothesis::JsonPretty, Some("by 2 spaces")),
        });
        let order = style.order.map(|order| match order {
            Order::Sorted => Hypothesis::JsonSorted,
            Order::Service => Hypothesis::JsonOrder,
        });
        let unicode = style.unicode.map(|unicode| match unicode {
            Escapes::Escaped => Hypothesis::JsonUnicodeEscaped,
            Escapes::Plain => Hypothesis::JsonUnicodePlain,
        });
        let slash = style.slash.map(|slash| match slash {
            Escapes::Escaped => Hypothesis::JsonSlashEscaped,
            Escapes::Plain => Hypothesis::JsonSlashPlain,
        });
        let html = style.html.then_some(Hypothesis::JsonHtmlEscaped);
        let numbers =
            style.numbers.map(|spelling| (Hypothesis::JsonNumbers, Some(spelling.name())));
        let plain = [order, unicode, slash, html].into_iter().flatten().map(|one| (one, None));
        layout.into_iter().chain(plain).chain(numbers).collect()
    }

    /// The styles in which it looks different, those that change least first.
    pub(super) fn styles(&self) -> Vec<Style> {
        work::note(Kind::Styles, self.text.len());
        let usual = Style::default();
        let print = |style: Style| self.print(style, usize::MAX).unwrap_or_default();
        let differs = |style: &Style| print(*style) != self.text;
        let unicode = [Escapes::Plain, Escapes::Escaped]
            .map(|way| Style { unicode: Some(way), ..usual })
            .into_iter()
            .filter(differs);
        let slash = [Escapes::Plain, Escapes::Escaped]
            .map(|way| Style { slash: Some(way), ..usual })
            .into_iter()
            .filter(differs);
        let html = Some(Style { html: true, ..usual }).into_iter().filter(differs);
        let numbers = number::SPELLINGS
            .iter()
            .map(|spelling| Style { numbers: Some(*spelling), ..usual })
            .filter(differs);
        let compact = print(Style { layout: Some(Layout::Compact), ..usual });
        let ordered = |order: &Order| {
            let style = Style { layout: Some(Layout::Compact), order: Some(*order), ..usual };
            print(style) != compact
        };
        let orders = [Order::Service, Order::Sorted].into_iter().filter(ordered).map(Some);
        let orders: Vec<_> = [None].into_iter().chain(orders).collect();
        let layouts = [None].into_iter().chain(LAYOUTS.map(Some));
        let with_usual = |styles: Vec<Style>| [vec![usual], styles].concat();
        let (unicode, slash) = (with_usual(unicode.collect()), with_usual(slash.collect()));
        let (html, numbers) = (with_usual(html.collect()), with_usual(numbers.collect()));
        let mut styles = Vec::new();
        for layout in layouts {
            for order in &orders {
                // Members that change places are laid out anew.
                if layout.is_none() && order.is_some() {
                    continue;
                }
                for unicode in &unicode {
                    for slash in &slash {
                        for html in &html {
                            styles.extend(numbers.iter().map(|numbers| Style {
                                layout,
                                order: *order,
                                unicode: unicode.unicode,
                                slash: slash.slash,
                                html: html.html,
                                numbers: numbers.numbers,
                            }));
                        }
                    }
                }
            }
        }
        styles.retain(|style| *style != usual);
        styles.sort_by_key(|style| self.changes(style).len());
        styles
    }

    /// The document in a style, unless that is longer than anybody prints it, as what is nested deeply becomes
    /// with each of many lines indented.
    pub(super) fn printed(&self, style: Style) -> Result<String, TooLong> {
        let most = GROWTH_MAX * self.text.len() + ROOM;
        let printed = self.print(style, most);
        let length = printed.as_ref().map_or_else(|TooLong(length)| *length, String::len);
        work::note(style.kind(), length.max(self.text.len()));
        printed
    }

    fn print(&self, style: Style, most: usize) -> Result<String, TooLong> {
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 4);
        match style.layout {
            None => print::in_place(&mut out, self.text, style),
            Some(layout) => Printer { out: &mut out, layout, style, most }.node(&self.root, 0),
        }
        if out.len() > most { Err(TooLong(out.len())) } else { Ok(out) }
    }

    /// The document with one number spelled in another way, for each of the first few numbers.
    pub(super) fn with_other_numbers(&self, most: usize) -> impl Iterator<Item = String> {
        let places = number::places(self.text);
        places.into_iter().take(most).filter_map(|place| {
            let longer = number::longer(&self.text[place.clone()])?;
            Some([&self.text[..place.start], &longer, &self.text[place.end..]].concat())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#" {"b": [1.0, -2e3,{}, [] ],"a":"x\/y/<\u00e9é\ud83d\ude00\u0007\"" ,"data":true}"#;

    fn printed(style: Style) -> String {
        Document::read(TEXT.as_bytes()).unwrap().printed(style).unwrap()
    }

    fn laid_out(layout: Layout) -> Style {
        Style { layout: Some(layout), ..Style::default() }
    }

    #[test]
    fn layouts_change_space_alone() {
        assert_eq!(printed(Style::default()), TEXT);
        let compact =
            r#"{"b":[1.0,-2e3,{},[]],"a":"x\/y/<\u00e9é\ud83d\ude00\u0007\"","data":true}"#;
        assert_eq!(printed(laid_out(Layout::Compact)), compact);
        let spaced =
            r#"{"b": [1.0, -2e3, {}, []], "a": "x\/y/<\u00e9é\ud83d\ude00\u0007\"", "data": true}"#;
        assert_eq!(printed(laid_out(Layout::Spaced)), spaced);
        let pretty = "{\n  \"b\": [\n    1.0,\n    -2e3,\n    {},\n    []\n  ],\n  \"a\": ";
        assert!(printed(laid_out(Layout::Pretty("  "))).starts_with(pretty));
    }

    #[test]
    fn escapes_are_written_or_taken_back_where_they_stand() {
        let with = |style: Style| printed(style);
        let escaped = with(Style { unicode: Some(Escapes::Escaped), ..Style::default() });
        assert!(escaped.contains(r"<\u00e9\u00e9\ud83d\ude00\u0007"), "{escaped}");
        let plain = with(Style { unicode: Some(Escapes::Plain), ..Style::default() });
        assert!(plain.contains("<éé😀\\u0007\\\""), "{plain}");
        let slash = with(Style { slash: Some(Escapes::Escaped), ..Style::default() });
        assert!(slash.contains(r"x\/y\/<"), "{slash}");
        let slash = with(Style { slash: Some(Escapes::Plain), ..Style::default() });
        assert!(slash.contains("x/y/<"), "{slash}");
        let html = with(Style { html: true, ..Style::default() });
        assert!(html.contains(r"x\/y/\u003c\u00e9"), "{html}");
    }

    #[test]
    fn members_are_sorted_everywhere_and_the_service_orders_its_own() {
        let of = |text: &str, order| {
            let style = Style { order: Some(order), ..laid_out(Layout::Compact) };
            Document::read(text.as_bytes()).unwrap().printed(style).unwrap()
        };
        assert_eq!(
            of(r#"{"b":{"d":1,"c":2},"a":[]}"#, Order::Sorted),
            r#"{"a":[],"b":{"c":2,"d":1}}"#
        );
        assert_eq!(
            of(r#"{"x":1,"data":{"z":1,"event":2},"event":"e"}"#, Order::Service),
            r#"{"event":"e","data":{"z":1,"event":2},"x":1}"#
        );
    }

    #[test]
    fn only_styles_that_change_something_are_tried_the_plainest_first() {
        let styles = |text: &str| Document::read(text.as_bytes()).unwrap().styles();
        assert_eq!(styles("1").len(), 6 * 3 - 1, "layouts, and 1, 1.0 and 1.00");
        let all = styles(TEXT);
        assert!(all.len() < 2000, "{}", all.len());
        let document = Document::read(TEXT.as_bytes()).unwrap();
        let count = |style: &Style| document.changes(style).len();
        assert!(all.windows(2).all(|pair| count(&pair[0]) <= count(&pair[1])));
    }

    #[test]
    fn document_too_deep_or_not_json_is_refused() {
        let read = |body: &[u8]| Document::read(body).err();
        for bad in [&b"{"[..], b"\xff", "[".repeat(100_000).as_bytes()] {
            assert_eq!(read(bad), Some(Unreadable::NotJson));
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(nested(nesting::DEPTH_MAX).as_bytes()), None);
        assert_eq!(read(nested(nesting::DEPTH_MAX + 1).as_bytes()), Some(Unreadable::TooDeep));
        assert_eq!(read(nested(1 << 20).as_bytes()), Some(Unreadable::TooDeep));
    }

    #[test]
    fn what_is_nested_deeply_is_not_printed_in_lines_without_end() {
        let text = format!("{}{}1{}", "[".repeat(100), "1,".repeat(20_000), "]".repeat(100));
        let document = Document::read(text.as_bytes()).unwrap();
        assert!(document.printed(laid_out(Layout::Pretty("    "))).is_err());
        assert_eq!(document.printed(laid_out(Layout::Compact)).as_deref(), Ok(&*text));
    }

    #[test]
    fn white_space_between_the_parts_is_told_from_that_within_them() {
        for (text, expected) in [
            (r#"{"a":1,"data":{ "b" : [ 1 ] },"c":" x "}"#, false),
            (r#"  {"a":1}"#, false),
            ("{\"a\":1}\n", false),
            (r#"{"a": 1}"#, true),
            (r#"{"a":1, "b":2}"#, true),
            ("{\n  \"a\":1\n}", true),
            ("{}", false),
            ("{ }", true),
            ("[ 1 ]", false),
            ("no", false),
        ] {
            assert_eq!(is_laid_out(text.as_bytes()), expected, "{text}");
        }
    }

    proptest::proptest! {
        /// No style changes what a document means, but for the order of members and floating-point numbers.
        #[test]
        fn a_document_means_the_same_in_every_style(
            text in "[ -~é😀\u{2028}\u{7f}]{0,12}", number in -1.0e9_f64..1.0e9
        ) {
            let value = serde_json::json!({"t": text, "n": [number, 7, {}], "e": [], "o": {"é/": null}});
            let body = value.to_string();
            let document = Document::read(body.as_bytes()).unwrap();
            for style in document.styles() {
                let printed = document.printed(style).unwrap();
                let read: serde_json::Value = serde_json::from_str(&printed).unwrap();
                proptest::prop_assert_eq!(&read["t"], &value["t"], "{}", printed);
                proptest::prop_assert_eq!(read["n"][1].as_f64(), Some(7.0));
                proptest::prop_assert_eq!(&read["o"], &value["o"]);
            }
        }
    }
}
