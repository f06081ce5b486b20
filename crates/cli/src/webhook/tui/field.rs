//! A line that somebody types into.

use super::keys::Key;

/// Most characters.
const MOST: usize = 1_000;

/// A text, and where in it the next character goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    before: String,
    after: String,
}

impl Field {
    /// With a text, at its end.
    pub(super) fn of(text: &str) -> Self {
        Self { before: text.to_owned(), after: String::new() }
    }

    pub(super) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// What stands before the next character.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// Takes a key; says whether it did.
    pub(super) fn take(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c),
            Key::Backspace => drop(self.before.pop()),
            Key::Left => {
                let moved: String = self.before.pop().into_iter().collect();
                self.after.insert_str(0, &moved);
            }
            Key::Right => {
                let mut rest = self.after.chars();
                self.before.extend(rest.next());
                self.after = rest.as_str().to_owned();
            }
            Key::Home | Key::Ctrl('a') => {
                self.after = self.text();
                self.before.clear();
            }
            Key::End | Key::Ctrl('e') => *self = Self::of(&self.text()),
            Key::Ctrl('u') => self.before.clear(),
            Key::Ctrl('w') => {
                let kept = self.before.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.before.truncate(kept);
            }
            _ => return false,
        }
        true
    }

    /// Takes a text that was pasted, as one line.
    pub(super) fn paste(&mut self, text: &str) {
        crate::sanitize::one_line(text.trim()).chars().for_each(|c| self.insert(c));
    }

    fn insert(&mut self, c: char) {
        let harmless = crate::sanitize::one_line(c.encode_utf8(&mut [0; 4])).chars().count() == 1;
        if harmless && self.before.chars().count() + self.after.chars().count() < MOST {
            self.before.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_edited_as_in_a_shell() {
        let mut field = Field::default();
        "ab cd".chars().for_each(|c| assert!(field.take(Key::Char(c))));
        for (key, text, before) in [
            (Key::Left, "ab cd", "ab c"),
            (Key::Char('ö'), "ab cöd", "ab cö"),
            (Key::Backspace, "ab cd", "ab c"),
            (Key::Home, "ab cd", ""),
            (Key::Backspace, "ab cd", ""),
            (Key::Left, "ab cd", ""),
            (Key::Right, "ab cd", "a"),
            (Key::End, "ab cd", "ab cd"),
            (Key::Right, "ab cd", "ab cd"),
            (Key::Ctrl('w'), "ab ", "ab "),
            (Key::Ctrl('u'), "", ""),
        ] {
            assert!(field.take(key), "{key:?}");
            assert_eq!((field.text().as_str(), field.before()), (text, before), "{key:?}");
        }
        assert!(!field.take(Key::Up) && !field.take(Key::Enter));
    }

    #[test]
    fn nothing_in_it_acts_and_it_is_bounded() {
        let mut field = Field::default();
        field.paste("a\nb\u{1b}[2J\u{202e}\tc\n");
        assert_eq!(field.text(), "a b[2J c");
        field.take(Key::Char('\u{9b}'));
        assert_eq!(field.text(), "a b[2J c");
        field.paste(&"x".repeat(5_000));
        assert_eq!(field.text().len(), MOST);
    }
}
