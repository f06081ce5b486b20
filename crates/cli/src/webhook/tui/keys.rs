//! What each key does: one table, which dispatch, the help and the documentation follow.

/// A key, whatever terminal it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    BackTab,
    Enter,
    Esc,
    Backspace,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Back,
    NextTab,
    PreviousTab,
    Body,
    Explain,
    Replay,
    ReplayTo,
    Edit,
    Copy,
    Filter,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRow {
    pub(super) action: Action,
    pub(super) keys: &'static [Key],
    /// The keys, as people call them.
    pub(super) shown: &'static str,
    /// What they do, in the help and in the documentation.
    pub(super) means: &'static str,
    /// The key and a word for the line at the bottom, where it stands there.
    pub(super) hint: Option<(&'static str, &'static str)>,
}

const fn row(
    action: Action,
    keys: &'static [Key],
    shown: &'static str,
    means: &'static str,
) -> KeyRow {
    KeyRow { action, keys, shown, means, hint: None }
}

const fn hinted(row: KeyRow, key: &'static str, word: &'static str) -> KeyRow {
    KeyRow { hint: Some((key, word)), ..row }
}

/// Every key there is, in the order of the help.
pub(super) const KEYS: &[KeyRow] = &[
    row(Action::Up, &[Key::Up, Key::Char('k')], "↑ k", "the delivery above, or the text up"),
    row(Action::Down, &[Key::Down, Key::Char('j')], "↓ j", "the delivery below, or the text down"),
    row(Action::PageUp, &[Key::PageUp, Key::Ctrl('b')], "PgUp Ctrl-B", "a page up"),
    row(
        Action::PageDown,
        &[Key::PageDown, Key::Ctrl('f'), Key::Char(' ')],
        "PgDn Ctrl-F Space",
        "a page down",
    ),
    row(
        Action::First,
        &[Key::Home, Key::Char('g')],
        "Home g",
        "the newest, and from then on each new one; or the beginning of the text",
    ),
    row(Action::Last, &[Key::End, Key::Char('G')], "End G", "the oldest, or the end of the text"),
    hinted(
        row(
            Action::Open,
            &[Key::Enter],
            "Enter",
            "to the text of the delivery, or back to the list",
        ),
        "⏎",
        "read",
    ),
    hinted(
        row(
            Action::NextTab,
            &[Key::Tab, Key::Right, Key::Char('l')],
            "Tab → l",
            "the next part: request, answers, verdict",
        ),
        "Tab",
        "part",
    ),
    row(
        Action::PreviousTab,
        &[Key::BackTab, Key::Left, Key::Char('h')],
        "Shift-Tab ← h",
        "the part before",
    ),
    row(Action::Body, &[Key::Char('b')], "b", "bodies laid out, or as they came"),
    hinted(
        row(
            Action::Replay,
            &[Key::Char('r')],
            "r",
            "send it once more, to where it was forwarded or to the listener, signed now",
        ),
        "r",
        "replay",
    ),
    row(Action::ReplayTo, &[Key::Char('R')], "R", "send it once more to an address that you type"),
    hinted(
        row(
            Action::Edit,
            &[Key::Char('e')],
            "e",
            "change its body in $VISUAL or $EDITOR, and send that, signed now",
        ),
        "e",
        "edit",
    ),
    hinted(
        row(
            Action::Copy,
            &[Key::Char('y')],
            "y",
            "copy it as a command of curl, which is shown as well",
        ),
        "y",
        "curl",
    ),
    hinted(
        row(Action::Explain, &[Key::Char('x')], "x", "find out why its signature is not right"),
        "x",
        "why",
    ),
    hinted(
        row(
            Action::Filter,
            &[Key::Char('/')],
            "/",
            "show those alone that have a text, or are like `status:5xx verdict:invalid`",
        ),
        "/",
        "filter",
    ),
    hinted(row(Action::Help, &[Key::Char('?')], "?", "these keys"), "?", "help"),
    row(Action::Back, &[Key::Esc], "Esc", "back: from a question, from the text, from the filter"),
    row(
        Action::Redraw,
        &[Key::Ctrl('l')],
        "Ctrl-L",
        "draw the screen anew, and read again what could not be read",
    ),
    row(Action::Suspend, &[Key::Ctrl('z')], "Ctrl-Z", "back to the shell, until `fg`"),
    hinted(row(Action::Quit, &[Key::Char('q'), Key::Ctrl('c')], "q Ctrl-C", "end"), "q", "end"),
];

/// What a key asks for, if it does anything.
pub(super) fn action(key: Key) -> Option<Action> {
    KEYS.iter().find(|row| row.keys.contains(&key)).map(|row| row.action)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn a_key_does_one_thing() {
        let mut seen = Vec::new();
        for row in KEYS {
            for key in row.keys {
                assert!(!seen.contains(key), "{key:?}");
                seen.push(*key);
                assert_eq!(action(*key), Some(row.action));
            }
        }
        assert_eq!(action(Key::Char('z')), None);
    }

    #[test]
    fn the_line_at_the_bottom_fits_into_eighty_columns() {
        let hints = KEYS.iter().filter_map(|row| row.hint);
        let width: usize = hints.map(|(key, word)| key.width() + 1 + word.width() + 2).sum();
        assert!(width <= 80, "{width}");
    }

    #[test]
    fn the_documentation_has_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/WEBHOOKS.md");
        let docs = std::fs::read_to_string(path).unwrap();
        for row in KEYS {
            let keys: Vec<_> = row.shown.split(' ').map(|key| format!("`{key}`")).collect();
            let line = format!("| {} | {} |", keys.join(" "), row.means);
            assert!(docs.lines().any(|other| other == line), "not in docs/WEBHOOKS.md:\n{line}");
        }
    }
}
