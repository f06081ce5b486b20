//! JSON printed in another way: what a body may have been before something parsed it and wrote it again.
//! Every string and number keeps its spelling unless the style changes it.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::number;
use super::table::Hypothesis;

/// The members of an event in the order in which the service writes them (SPEC §6).
const SERVICE_ORDER: [&str; 6] =
    ["event", "submission_id", "form_id", "form_title", "data", "created_at"];

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

impl<'a> Document<'a> {
    /// Reads a document; none if it is no JSON, or is nested deeper than anybody nests.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice::<IgnoredAny>(body).ok()?;
        let text = std::str::from_utf8(body).ok()?;
        let root = Reader { text, at: 0 }.node()?;
        let mut document = Self { text, root, layout: None };
        let has = |layout: &Layout| {
            document.printed(Style { layout: Some(*layout), ..Style::default() }) == text
        };
        document.layout = LAYOUTS.into_iter().find(has);
        Some(document)
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
        let usual = Style::default();
        let differs = |style: &Style| self.printed(*style) != self.text;
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
        let compact = self.printed(Style { layout: Some(Layout::Compact), ..usual });
        let ordered = |order: &Order| {
            let style = Style { layout: Some(Layout::Compact), order: Some(*order), ..usual };
            self.printed(style) != compact
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

    /// The document in a style.
    pub(super) fn printed(&self, style: Style) -> String {
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 4);
        match style.layout {
            None => in_place(&mut out, self.text, style),
            Some(layout) => Printer { out: &mut out, layout, style }.node(&self.root, 0),
        }
        out
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

/// Reads a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !b" \t\r\n".contains(byte))?;
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Depth is bounded by the parser that has seen the text before.
    fn node(&mut self) -> Option<Node<'a>> {
        match self.peek()? {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.takes(b'}') {
                    self.peek()?;
                    let name = self.text();
                    self.takes(b':');
                    members.push((name, self.node()?));
                    self.takes(b',');
                }
                Some(Node::Object(members))
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.takes(b']') {
                    items.push(self.node()?);
                    self.takes(b',');
                }
                Some(Node::Array(items))
            }
            b'"' => Some(Node::Text(self.text())),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
                self.at += end;
                Some(Node::Word(&rest[..end]))
            }
        }
    }

    fn text(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = text_end(rest);
        self.at += end;
        &rest[..end]
    }
}

/// Where a string that begins a text ends.
fn text_end(text: &str) -> usize {
    let (mut at, bytes) = (1, text.as_bytes());
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Changes strings and numbers where they stand.
fn in_place(out: &mut String, text: &str, style: Style) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with('"') { text_end(rest) } else { number::end(rest) };
        let (token, after) = rest.split_at(end);
        if token.starts_with('"') {
            string(out, token, style);
        } else {
            word(out, token, style);
        }
        rest = after;
    }
    out.push_str(rest);
}

struct Printer<'o> {
    out: &'o mut String,
    layout: Layout,
    style: Style,
}

impl Printer<'_> {
    fn node(&mut self, node: &Node<'_>, depth: usize) {
        match node {
            Node::Word(token) => word(self.out, token, self.style),
            Node::Text(token) => string(self.out, token, self.style),
            Node::Array(items) if items.is_empty() => self.out.push_str("[]"),
            Node::Array(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.before(at, depth + 1);
                    self.node(item, depth + 1);
                }
                self.line(depth);
                self.out.push(']');
            }
            Node::Object(members) if members.is_empty() => self.out.push_str("{}"),
            Node::Object(members) => {
                self.out.push('{');
                for (at, (name, value)) in self.ordered(members, depth).into_iter().enumerate() {
                    self.before(at, depth + 1);
                    string(self.out, name, self.style);
                    self.out.push_str(if self.layout == Layout::Compact { ":" } else { ": " });
                    self.node(value, depth + 1);
                }
                self.line(depth);
                self.out.push('}');
            }
        }
    }

    fn before(&mut self, at: usize, depth: usize) {
        if at > 0 {
            self.out.push_str(if self.layout == Layout::Spaced { ", " } else { "," });
        }
        self.line(depth);
    }

    fn line(&mut self, depth: usize) {
        if let Layout::Pretty(indent) = self.layout {
            self.out.push('\n');
            (0..depth).for_each(|_| self.out.push_str(indent));
        }
    }

    fn ordered<'n, 'a>(
        &self,
        members: &'n [(&'a str, Node<'a>)],
        depth: usize,
    ) -> Vec<(&'a str, &'n Node<'a>)> {
        let mut ordered: Vec<_> = members.iter().map(|(name, node)| (*name, node)).collect();
        match self.style.order {
            Some(Order::Sorted) => {
                ordered.sort_by_cached_key(|(name, _)| decoded(name).into_owned());
            }
            Some(Order::Service) if depth == 0 => ordered.sort_by_key(|(name, _)| {
                let place = SERVICE_ORDER.iter().position(|known| **known == *decoded(name));
                place.unwrap_or(SERVICE_ORDER.len())
            }),
            _ => {}
        }
        ordered
    }
}

/// What a string of JSON says.
fn decoded(token: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(token).map_or(Cow::Borrowed(token), Cow::Owned)
}

fn word(out: &mut String, token: &str, style: Style) {
    match style.numbers.filter(|_| token.starts_with(|c: char| c == '-' || c.is_ascii_digit())) {
        Some(spelling) => out.push_str(&spelling.of(token)),
        None => out.push_str(token),
    }
}

/// Prints a string with its escapes as the style has them.
fn string(out: &mut String, token: &str, style: Style) {
    if style.unicode.is_none() && style.slash.is_none() && !style.html {
        return out.push_str(token);
    }
    let mut rest = token;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '\\' => {
                length = escape(out, rest, style);
            }
            '/' if style.slash == Some(Escapes::Escaped) => out.push_str("\\/"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if style.html => escaped(out, c),
            c if !c.is_ascii() && style.unicode == Some(Escapes::Escaped) => escaped(out, c),
            c => out.push(c),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Prints the escape that a text begins with, and says how long it is there.
fn escape(out: &mut String, rest: &str, style: Style) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'/') if style.slash == Some(Escapes::Plain) => {
            out.push('/');
            2
        }
        Some(b'u') if style.unicode == Some(Escapes::Plain) => match character(rest) {
            Some((c, length)) if c >= ' ' && !matches!(c, '"' | '\\' | '\u{7f}') => {
                out.push(c);
                length
            }
            _ => kept(out, rest, 6),
        },
        Some(b'u') => kept(out, rest, 6),
        _ => kept(out, rest, 2),
    }
}

fn kept(out: &mut String, rest: &str, length: usize) -> usize {
    out.push_str(rest.get(..length).unwrap_or(rest));
    length
}

/// The character of `\u` and four digits, or of the pair of those that a text begins with, and how long it is there.
fn character(rest: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, 6));
    }
    let pair = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((pair, 12))
}

fn escaped(out: &mut String, c: char) {
    use std::fmt::Write;

    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04x}").expect("a string takes every write");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#" {"b": [1.0, -2e3,{}, [] ],"a":"x\/y/<\u00e9é\ud83d\ude00\u0007\"" ,"data":true}"#;

    fn printed(style: Style) -> String {
        Document::read(TEXT.as_bytes()).unwrap().printed(style)
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
            Document::read(text.as_bytes()).unwrap().printed(style)
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
        assert!(Document::read(b"{").is_none() && Document::read(b"\xff").is_none());
        assert!(Document::read("[".repeat(100_000).as_bytes()).is_none());
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
                let printed = document.printed(style);
                let read: serde_json::Value = serde_json::from_str(&printed).unwrap();
                proptest::prop_assert_eq!(&read["t"], &value["t"], "{}", printed);
                proptest::prop_assert_eq!(read["n"][1].as_f64(), Some(7.0));
                proptest::prop_assert_eq!(&read["o"], &value["o"]);
            }
        }
    }
}
