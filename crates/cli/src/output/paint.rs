//! Decides which streams have colours, and defines the styles of text.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use formsvc_workbench::verdict::VerdictCode;

use crate::base::env::{self, Lookup};
use crate::output::Color;

/// Returns true if a stream has colours. The flag decides first, then NO_COLOR, then CLICOLOR_FORCE; otherwise
/// terminals have colours unless CLICOLOR is 0 or TERM is dumb.
pub(super) fn has_colors(color: Color, env: Lookup<'_>, is_terminal: bool) -> bool {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set(env::NO_COLOR.name).is_some() => false,
        Color::Auto if set(env::CLICOLOR_FORCE.name).is_some_and(|value| value != "0") => true,
        Color::Auto => {
            is_terminal && set(env::CLICOLOR.name).is_none_or(|value| value != "0") && !is_dumb(env)
        }
    }
}

/// Returns true if the terminal supports no escape sequences. Windows has no terminal types.
pub(crate) fn is_dumb(env: Lookup<'_>) -> bool {
    let term = env(env::TERM.name).filter(|term| !term.is_empty());
    term.map_or(cfg!(unix), |term| term == "dumb")
}

/// The styles of words of closed sets. Verdicts and HTTP statuses are handled in [`TextStyle::for_word`].
const WORDS: &[(TextStyle, &[&str])] = &[
    (TextStyle::Success, &["published", "ok", "good", "usable", "delivered", "active", "passed"]),
    (TextStyle::Warning, &["draft", "pending", "warning", "warn", "locked", "retrying"]),
    (
        TextStyle::Failure,
        &["failed", "fail", "error", "invalid", "missing", "revoked", "refused", "unreachable"],
    ),
    (TextStyle::Dim, &["closed", "absent", "none", "skip", "skipped", "off"]),
];

/// The style of a text. Styles use only those of the sixteen ANSI colours that are readable in light and dark
/// themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    /// A heading, or a name before its value.
    Heading,
    Success,
    Warning,
    Failure,
    Dim,
}

impl TextStyle {
    /// Returns the style of a word of a closed set, a verdict, a text that begins with a sign such as `✓`, or an HTTP
    /// status. Other text is plain.
    pub(crate) fn for_word(word: &str) -> Self {
        if let Some((style, _)) = WORDS.iter().find(|(_, words)| words.contains(&word)) {
            return *style;
        }
        if let Some(verdict) = VerdictCode::from_name(word) {
            return Self::for_verdict(verdict);
        }
        match (word.split(' ').next(), word.parse()) {
            (Some("✓"), _) => Self::Success,
            (Some("?"), _) => Self::Warning,
            (Some("✗"), _) => Self::Failure,
            (_, Ok(status @ 100..600)) => Self::for_status(Some(status)),
            _ => Self::Plain,
        }
    }

    /// Returns the style of an HTTP status. `None` means that there was no response.
    pub(crate) fn for_status(status: Option<u16>) -> Self {
        match status {
            Some(200..300) => Self::Success,
            // The sender has to fix the request.
            Some(300..500) => Self::Warning,
            _ => Self::Failure,
        }
    }

    /// Returns the style of a verdict.
    pub(crate) fn for_verdict(code: VerdictCode) -> Self {
        match code {
            VerdictCode::Valid => Self::Success,
            VerdictCode::Unchecked => Self::Warning,
            _ => Self::Failure,
        }
    }

    pub(crate) fn style(self) -> Style {
        let color = |color: AnsiColor| color.on_default();
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Success => color(AnsiColor::Green),
            Self::Warning => color(AnsiColor::Yellow),
            Self::Failure => color(AnsiColor::Red),
            Self::Dim => Style::new().dimmed(),
        }
    }
}

/// Applies styles to text if the value is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// Appends the text in its style. An empty text has no style.
    pub(crate) fn write(self, out: &mut String, style: TextStyle, text: &str) {
        if !self.0 || style == TextStyle::Plain || text.is_empty() {
            return out.push_str(text);
        }
        let style = style.style();
        // A write to memory succeeds.
        let _ = write!(out, "{style}{text}{style:#}");
    }

    /// Returns the text in its style.
    pub(crate) fn put(self, style: TextStyle, text: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, style, text);
        out
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn on(color: Color, env: &[(&str, &str)], terminal: bool) -> bool {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        has_colors(color, &lookup, terminal)
    }

    #[test]
    fn color_flag_precedes_no_color_force_and_stream() {
        let values = |name: &'static str, values: &'static [&'static str]| {
            values.iter().map(move |value| (name, *value))
        };
        for no_color in values("NO_COLOR", &["", "1", "0"]) {
            for clicolor in values("CLICOLOR", &["", "0", "1"]) {
                for force in values("CLICOLOR_FORCE", &["", "0", "1"]) {
                    for term in values("TERM", &["", "dumb", "xterm"]) {
                        for terminal in [false, true] {
                            let env = [no_color, clicolor, force, term];
                            let auto = match () {
                                () if !no_color.1.is_empty() => false,
                                () if force.1 == "1" => true,
                                () if clicolor.1 == "0" => false,
                                () => terminal && term.1 == "xterm",
                            };
                            let got = |color| on(color, &env, terminal);
                            assert_eq!(got(Color::Auto), auto, "{env:?} {terminal}");
                            assert!(got(Color::Always) && !got(Color::Never), "{env:?} {terminal}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn colours_are_ansi_without_black_and_white() {
        for text_style in [
            TextStyle::Plain,
            TextStyle::Heading,
            TextStyle::Success,
            TextStyle::Warning,
            TextStyle::Failure,
            TextStyle::Dim,
        ] {
            let style = text_style.style();
            assert_eq!(style.get_bg_color(), None, "{text_style:?}");
            match style.get_fg_color() {
                None => {}
                Some(anstyle::Color::Ansi(color)) => assert!(
                    !matches!(
                        color,
                        AnsiColor::Black
                            | AnsiColor::White
                            | AnsiColor::BrightBlack
                            | AnsiColor::BrightWhite
                    ),
                    "{text_style:?}"
                ),
                Some(_) => panic!("{text_style:?} has a colour outside the sixteen"),
            }
        }
    }

    #[test]
    fn known_word_has_a_style_and_other_word_is_plain() {
        assert_eq!(TextStyle::for_word("published"), TextStyle::Success);
        assert_eq!(TextStyle::for_word("draft"), TextStyle::Warning);
        assert_eq!(TextStyle::for_word("closed"), TextStyle::Dim);
        assert_eq!(TextStyle::for_word("of a later release"), TextStyle::Plain);
        assert_eq!(Paint(true).put(TextStyle::Success, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(Paint(false).put(TextStyle::Success, "x"), "x");
    }

    #[test]
    fn word_verdict_or_status_has_matching_style() {
        let words = ["ok", "valid", "✗ bad event", "200", "401", "503", "closed", "else", ""];
        let wanted = [
            TextStyle::Success,
            TextStyle::Success,
            TextStyle::Failure,
            TextStyle::Success,
            TextStyle::Warning,
            TextStyle::Failure,
            TextStyle::Dim,
            TextStyle::Plain,
            TextStyle::Plain,
        ];
        assert_eq!(words.map(TextStyle::for_word), wanted);
    }

    #[test]
    fn http_status_style_depends_on_its_class() {
        for (status, style) in [
            (200, TextStyle::Success),
            (299, TextStyle::Success),
            (300, TextStyle::Warning),
            (499, TextStyle::Warning),
            (500, TextStyle::Failure),
            (100, TextStyle::Failure),
            (999, TextStyle::Failure),
        ] {
            assert_eq!(TextStyle::for_status(Some(status)), style, "{status}");
        }
        assert_eq!(TextStyle::for_status(None), TextStyle::Failure);
    }
}
