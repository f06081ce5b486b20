//! A text that is read on the screen. Everything in it was made harmless on its way in, whoever wrote it.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::output::Look;
use crate::sanitize;

/// Cells that a tab stands for, at most.
const TAB: usize = 4;
/// Characters that one cluster is drawn of, at most: in no language it has more, and marks that pile up on a
/// character have no end.
const CLUSTER_MAX: usize = 16;
/// Bytes of one text that are shown.
const SHOWN_MAX: usize = 256 << 10;

/// A part of a line, and how it looks.
pub(super) type Part = (Look, String);

/// Lines of any length.
#[derive(Clone, Debug, Default)]
pub(super) struct Doc(Vec<DocLine>);

#[derive(Clone, Debug, Default)]
struct DocLine {
    parts: Vec<Part>,
    /// Cells that a row is set in where the line goes on.
    hang: usize,
    /// Whether it is broken between words.
    words: bool,
}

impl Doc {
    /// A line of our own words and short ones of others, broken between words.
    pub(super) fn line(&mut self, parts: &[(Look, &str)]) {
        self.put(parts, 2, true);
    }

    /// A line whose rows after the first are set in by so many cells.
    pub(super) fn hung(&mut self, parts: &[(Look, &str)], hang: usize) {
        self.put(parts, hang, true);
    }

    pub(super) fn heading(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push(DocLine::default());
        }
        self.line(&[(Look::Heading, text)]);
    }

    /// A name and its value, which is broken anywhere: no character of it is lost.
    pub(super) fn pair(&mut self, name: &str, value: &str) {
        self.put(&[(Look::Past, name), (Look::Past, ": "), (Look::Plain, value)], 4, false);
    }

    /// A text of several lines, as long as it is not too long.
    pub(super) fn text(&mut self, text: &str) {
        let shown = beginning(text, SHOWN_MAX);
        let harmless = sanitize::lines(shown);
        for line in harmless.lines() {
            let part = (Look::Plain, without_tabs(line));
            self.0.push(DocLine { parts: vec![part], hang: 0, words: false });
        }
        if shown.len() < text.len() {
            let more = format!("… and {} bytes more", text.len() - shown.len());
            self.line(&[(Look::Past, &more)]);
        }
    }

    /// All of another text.
    pub(super) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Its rows in a width of so many cells.
    pub(super) fn rows(&self, width: usize) -> Vec<Vec<Part>> {
        let mut rows = Vec::new();
        // A cluster takes two cells at most.
        let width = width.max(4);
        for line in &self.0 {
            let clusters = line.clusters();
            let mut at = 0;
            loop {
                let indent = if at == 0 { 0 } else { line.hang.min(width / 2) };
                let (end, next) = cut(&clusters[at..], width - indent, line.words);
                rows.push(row(indent, &clusters[at..at + end]));
                at += next;
                if at >= clusters.len() {
                    break;
                }
            }
        }
        rows
    }

    fn put(&mut self, parts: &[(Look, &str)], hang: usize, words: bool) {
        let clean = |(look, text): &(Look, &str)| (*look, sanitize::one_line(text).into_owned());
        self.0.push(DocLine { parts: parts.iter().map(clean).collect(), hang, words });
    }
}

/// What is one character to a reader.
struct Cluster<'a> {
    look: Look,
    text: &'a str,
    width: usize,
}

impl DocLine {
    fn clusters(&self) -> Vec<Cluster<'_>> {
        let mut all = Vec::new();
        for (look, text) in &self.parts {
            if text.is_ascii() {
                let each = (0..text.len()).map(|at| &text[at..=at]);
                all.extend(each.map(|text| Cluster { look: *look, text, width: 1 }));
            } else {
                let each = text.graphemes(true).flat_map(bounded);
                all.extend(each.map(|text| Cluster { look: *look, text, width: text.width() }));
            }
        }
        all
    }
}

/// A cluster in parts that are not too long, without those that are nothing but marks.
fn bounded(cluster: &str) -> impl Iterator<Item = &str> {
    let mut rest = cluster;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(CLUSTER_MAX).map_or(rest.len(), |(end, _)| end);
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
    .enumerate()
    .filter(|(at, part)| *at == 0 || part.width() > 0)
    .map(|(_, part)| part)
}

/// How many clusters stand on a row, and with which the next one begins.
fn cut(clusters: &[Cluster<'_>], room: usize, words: bool) -> (usize, usize) {
    let (mut used, mut space) = (0, None);
    for (at, cluster) in clusters.iter().enumerate() {
        used += cluster.width;
        if used > room {
            return match space {
                _ if cluster.text == " " && words => (at, at + 1),
                Some(space) if words => (space, space + 1),
                _ => (at.max(1), at.max(1)),
            };
        }
        if cluster.text == " " && at > 0 {
            space = Some(at);
        }
    }
    (clusters.len(), clusters.len())
}

fn row(indent: usize, clusters: &[Cluster<'_>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    if indent > 0 {
        parts.push((Look::Plain, " ".repeat(indent)));
    }
    for cluster in clusters {
        match parts.last_mut() {
            Some((look, text)) if *look == cluster.look => text.push_str(cluster.text),
            _ => parts.push((cluster.look, cluster.text.to_owned())),
        }
    }
    parts
}

/// The beginning of a text, of so many bytes at most.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn without_tabs(line: &str) -> String {
    if line.contains('\t') { line.replace('\t', &" ".repeat(TAB)) } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(doc: &Doc, width: usize) -> Vec<String> {
        let text = |row: Vec<Part>| row.into_iter().map(|(_, text)| text).collect();
        doc.rows(width).into_iter().map(text).collect()
    }

    #[test]
    fn words_stay_whole_and_texts_keep_every_character() {
        let mut doc = Doc::default();
        doc.line(&[(Look::Plain, "one two three four")]);
        doc.pair("name", "0123456789abcdef");
        doc.text("a line\n\nanother one\tx\n");
        assert_eq!(
            rows(&doc, 12),
            [
                "one two",
                "  three four",
                "name: 012345",
                "    6789abcd",
                "    ef",
                "a line",
                "",
                "another one ",
                "   x"
            ]
        );
    }

    #[test]
    fn rows_are_no_wider_than_the_screen_whatever_stands_in_them() {
        let mut doc = Doc::default();
        doc.text("漢字漢字漢字 ❤\u{fe0f}é\u{301} 👩‍👧 👍🏽 ﷽ ﷽ ﷽ x");
        doc.pair("größe", &"漢".repeat(50));
        doc.line(&[(Look::Plain, &"wort ".repeat(40)), (Look::Bad, "ende")]);
        for width in 4..=60 {
            for row in rows(&doc, width) {
                assert!(row.width() <= width, "{width}: {row:?}");
            }
        }
    }

    #[test]
    fn marks_that_pile_up_on_a_character_have_an_end() {
        let mut doc = Doc::default();
        let piled = format!("a{}b", "\u{301}".repeat(100_000));
        doc.text(&piled);
        doc.pair(&piled, &piled);
        doc.line(&[(Look::Plain, &piled)]);
        doc.text(&"क\u{94d}".repeat(10_000));
        for row in rows(&doc, 20) {
            assert!(row.chars().count() <= 20 * CLUSTER_MAX, "{}", row.len());
            assert!(row.width() <= 20, "{row:?}");
        }
        assert!(rows(&doc, 20)[0].ends_with('b'), "what comes after them is shown");
    }

    #[test]
    fn nothing_of_a_stranger_acts() {
        let mut doc = Doc::default();
        let hostile = "a\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{202e}b\r\nc\u{0}d\u{200b}";
        doc.line(&[(Look::Plain, hostile)]);
        doc.pair(hostile, hostile);
        doc.text(hostile);
        doc.heading(hostile);
        for row in rows(&doc, 200) {
            let acts = |c: char| c.is_control() || "\u{202e}\u{200b}".contains(c);
            assert!(!row.contains(acts), "{row:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_that_is_said() {
        let mut doc = Doc::default();
        doc.text(&"é".repeat(SHOWN_MAX));
        let rows = rows(&doc, 1000);
        assert_eq!(rows.last().unwrap(), &format!("… and {SHOWN_MAX} bytes more"));
    }
}
