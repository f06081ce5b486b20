//! Prints a document in a style.

use std::borrow::Cow;

use super::super::number;
use super::read::text_end;
use super::{Escapes, Layout, Node, Order, SERVICE_ORDER, Style};

/// Changes strings and numbers where they stand.
pub(super) fn in_place(out: &mut String, text: &str, style: Style) {
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

pub(super) struct Printer<'o> {
    pub(super) out: &'o mut String,
    pub(super) layout: Layout,
    pub(super) style: Style,
    /// What is longer than this is not printed to its end.
    pub(super) most: usize,
}

impl Printer<'_> {
    pub(super) fn node(&mut self, node: &Node<'_>, depth: usize) {
        match node {
            Node::Word(token) => word(self.out, token, self.style),
            Node::Text(token) => string(self.out, token, self.style),
            Node::Array(items) if items.is_empty() => self.out.push_str("[]"),
            Node::Array(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if self.is_over() {
                        return;
                    }
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
                    if self.is_over() {
                        return;
                    }
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

    fn is_over(&self) -> bool {
        self.out.len() > self.most
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
            Some(Order::Service) if depth == 0 => ordered.sort_by_cached_key(|(name, _)| {
                let name = decoded(name);
                let place = SERVICE_ORDER.iter().position(|known| *known == name);
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
