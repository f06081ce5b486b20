//! Errors on a page: they name a value between backticks, as everywhere, and a page has an element for it.

use std::fmt::{self, Display, Formatter};

use askama::filters::{Html, escape};

/// A sentence as HTML, with what stands between backticks as `<code>`. All of it is escaped; where the
/// backticks are no pairs, since a value has some of its own, they stay.
pub(crate) fn quoted(sentence: &str) -> impl Display + '_ {
    Quoted(sentence)
}

struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_paired = self.0.matches('`').count().is_multiple_of(2);
        let parts: Vec<&str> = if is_paired { self.0.split('`').collect() } else { vec![self.0] };
        for (place, part) in parts.into_iter().enumerate() {
            let is_value = place % 2 == 1;
            if is_value {
                f.write_str("<code>")?;
            }
            // An escaped text cannot fail to be made, only to be written.
            write!(f, "{}", escape(part, Html).map_err(|_| fmt::Error)?)?;
            if is_value {
                f.write_str("</code>")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_backticks_are_code_and_everything_is_escaped() {
        for (sentence, html) in [
            ("nothing to see", "nothing to see"),
            (
                "plain `http` is for `<b>`: no",
                "plain <code>http</code> is for <code>&#60;b&#62;</code>: no",
            ),
            ("`` is empty", "<code></code> is empty"),
            ("`a`b` has one of its own <i>", "`a`b` has one of its own &#60;i&#62;"),
            ("", ""),
        ] {
            assert_eq!(quoted(sentence).to_string(), html);
        }
    }
}
