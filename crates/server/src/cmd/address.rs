//! The address of a PostgreSQL database as text: whether it carries a password, and how it may be shown.
//!
//! It is taken apart as the client library does, so that nothing is a password to one and not to the
//! other: who connects stands before the first `@`, whatever else stands there.

use std::borrow::Cow;
use std::ffi::OsStr;

use crate::percent::{Plus, decode};

/// Begin the address of a PostgreSQL database.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Stands for what is not shown.
const MASK: &str = "***";

/// An address, taken apart.
struct Parts<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    password: Option<&'a str>,
    /// Hosts, ports, database.
    place: &'a str,
    parameters: Option<&'a str>,
}

/// Whether a text is meant as an address, however it is written; else it is the path of a file.
pub(super) fn is_address(text: &str) -> bool {
    behind_scheme(text).is_some()
}

/// Whether a text is an address with a password in it, or with what may be one.
pub(super) fn has_password(text: &str) -> bool {
    Parts::of(text)
        .is_some_and(|parts| parts.password.is_some() || parts.parameters().any(is_secret))
}

/// Whether an argument gives a password away to everyone on the machine who lists processes.
pub(super) fn gives_away(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    let is_flag = |(flag, _): &(&str, &str)| flag.starts_with("--") && !flag.contains(':');
    has_password(text.split_once('=').filter(is_flag).map_or(&*text, |(_, value)| value))
}

/// An address with stars for its passwords; anything else is left as it is.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    if !has_password(text) {
        return Cow::Borrowed(text);
    }
    let parts = Parts::of(text).expect("what has a password is an address");
    Cow::Owned(parts.print(Some(MASK)))
}

/// An address without its passwords, to be used by who has them from elsewhere.
pub(super) fn without_passwords(text: &str) -> String {
    Parts::of(text).map_or_else(|| text.to_owned(), |parts| parts.print(None))
}

fn behind_scheme(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let fits = |scheme: &&str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    SCHEMES.iter().find(|scheme| fits(scheme)).map(|scheme| &text[scheme.len()..])
}

/// Whether a parameter is a password: by its name, which may be any if it cannot be read.
fn is_secret(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default();
    decode(name, Plus::IsItself).is_none_or(|name| name.to_ascii_lowercase().contains("pass"))
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let rest = behind_scheme(text)?;
        let scheme = &text[..text.len() - rest.len()];
        let (user, password, rest) = match rest.split_once('@') {
            None => (None, None, rest),
            Some((who, rest)) => match who.split_once(':') {
                None => (Some(who), None, rest),
                // Somebody's password may have that character in it, and stand there in part.
                Some((user, password)) => {
                    (Some(user), Some(password), rest.rsplit('@').next().unwrap_or_default())
                }
            },
        };
        let (place, parameters) = match rest.split_once('?') {
            Some((place, parameters)) => (place, Some(parameters)),
            None => (rest, None),
        };
        Some(Self { scheme, user, password, place, parameters })
    }

    fn parameters(&self) -> impl Iterator<Item = &'a str> {
        self.parameters.into_iter().flat_map(|all| all.split('&'))
    }

    fn print(&self, mask: Option<&str>) -> String {
        let mut text = self.scheme.to_owned();
        text.push_str(self.user.unwrap_or_default());
        if let (Some(_), Some(mask)) = (self.password, mask) {
            text.extend([":", mask]);
        }
        if self.user.is_some() {
            text.push('@');
        }
        text.push_str(self.place);
        let kept = self.parameters().filter_map(|parameter| match (is_secret(parameter), mask) {
            (false, _) => Some(parameter.to_owned()),
            (true, Some(mask)) => Some(format!("password={mask}")),
            (true, None) => None,
        });
        for (at, parameter) in kept.enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            text.push_str(&parameter);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_and_hidden_wherever_the_client_library_reads_one() {
        for (text, shown, left) in [
            (
                "postgres://me:hunter2@h:5432/d",
                "postgres://me:***@h:5432/d",
                "postgres://me@h:5432/d",
            ),
            ("postgres://me:hun?ter2@h/d", "postgres://me:***@h/d", "postgres://me@h/d"),
            (
                "postgres://me:hun@ter2@h:5/d?a=b",
                "postgres://me:***@h:5/d?a=b",
                "postgres://me@h:5/d?a=b",
            ),
            ("postgres://me:hun/ter2@h", "postgres://me:***@h", "postgres://me@h"),
            ("postgres://:hunter2@h", "postgres://:***@h", "postgres://@h"),
            (" POSTGRES://me:hunter2@h", " POSTGRES://me:***@h", " POSTGRES://me@h"),
            (
                "postgresql://me:hunter2@a:1,b:2/d?x=y",
                "postgresql://me:***@a:1,b:2/d?x=y",
                "postgresql://me@a:1,b:2/d?x=y",
            ),
            (
                "postgres://h/d?password=hunter2&x=y",
                "postgres://h/d?password=***&x=y",
                "postgres://h/d?x=y",
            ),
            ("postgres://h?passwor%64=hunter2", "postgres://h?password=***", "postgres://h"),
            ("postgres://h?PassWord=hunter2", "postgres://h?password=***", "postgres://h"),
            (
                "postgres://h?x=y&sslpassword=hunter2",
                "postgres://h?x=y&password=***",
                "postgres://h?x=y",
            ),
            ("postgres://h?%zz=hunter2", "postgres://h?password=***", "postgres://h"),
        ] {
            assert!(has_password(text), "{text}");
            assert_eq!((&*masked(text), &*without_passwords(text)), (shown, left));
        }
    }

    #[test]
    fn a_password_among_arguments_is_seen() {
        for told in [
            "postgres://me:secret@h/d",
            "--database=postgresql://me:se?cret@h/d",
            "--to=POSTGRES://me:secret@h/d",
            "postgres://h/d?sslmode=require&passwor%64=secret",
            "postgres://me:@h",
        ] {
            assert!(gives_away(OsStr::new(told)), "{told}");
        }
        for plain in ["postgres://me@h:5432/d", "postgres://h:5432/d", "a:b@c", "--database=a.db"] {
            assert!(!gives_away(OsStr::new(plain)), "{plain}");
        }
    }

    #[test]
    fn what_has_no_password_is_shown_as_it_is() {
        for text in [
            "postgres://me@h/d?sslmode=require",
            "postgres:///d?host=%2Ftmp&user=me",
            "kept.db",
            "sqlite:a:b@c?password=x",
            "",
        ] {
            assert!(!has_password(text), "{text}");
            assert!(matches!(masked(text), Cow::Borrowed(same) if same == text));
        }
        assert!(!is_address("sqlite:postgres://h") && is_address("PostgreSQL://h"));
    }
}
