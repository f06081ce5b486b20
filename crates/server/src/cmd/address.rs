//! The address of a PostgreSQL database as text: whether it carries a password, and how it may be shown.
//!
//! It is taken apart as the client library does, so that nothing is a password to one and not to the
//! other: who connects stands before the first `@`, whatever else stands there. What other programs take
//! for an address is none here, but may carry a password all the same.

use std::borrow::Cow;
use std::ffi::OsStr;

use crate::percent::{Plus, decode};

/// Begin the address of a PostgreSQL database.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Addresses of pages and endpoints, which are no databases: commands have their own rules for them.
const OF_PAGES: [&str; 2] = ["http", "https"];
/// With one of these begins an address of the kind `key=value key=value`, which libpq reads.
const KEYS: [&str; 14] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "passfile",
    "service",
    "servicefile",
    "sslmode",
    "sslrootcert",
    "options",
    "application_name",
    "connect_timeout",
];
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

/// What a text that names a database is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape<'a> {
    /// The address of a PostgreSQL database, however it is written.
    Address,
    /// `key=value key=value`, which is not read.
    Pairs,
    /// An address of another kind, by its scheme.
    Foreign(&'a str),
    /// An address without `://`, such as `postgres:user:password@host`.
    NoSlashes,
    /// The path of a file.
    Path,
}

impl<'a> Shape<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        match scheme(text) {
            Some(known) if SCHEMES.iter().any(|known_to_us| is_same(known_to_us, known)) => {
                Self::Address
            }
            Some(other) => Self::Foreign(other.trim_end_matches("://")),
            None if is_of_pairs(text) => Self::Pairs,
            None if lacks_slashes(text) => Self::NoSlashes,
            None => Self::Path,
        }
    }
}

/// Whether a text is an address with a password in it, or with what may be one.
pub(super) fn has_password(text: &str) -> bool {
    match Shape::of(text) {
        Shape::Pairs => text.to_ascii_lowercase().contains("pass"),
        // Without its slashes an address has no parts, so that any of it may be a password.
        Shape::NoSlashes => true,
        _ => Parts::of(text)
            .is_some_and(|parts| parts.password.is_some() || parts.parameters().any(is_secret)),
    }
}

/// Whether an argument gives a password away to everyone on the machine who lists processes.
pub(super) fn gives_away(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    let is_flag = |(flag, _): &(&str, &str)| flag.starts_with("--") && !flag.contains(':');
    let value = text.split_once('=').filter(is_flag).map_or(&*text, |(_, value)| value);
    let is_of_pages = |scheme| OF_PAGES.iter().any(|page| is_same(page, scheme));
    match Shape::of(value) {
        Shape::Foreign(scheme) if is_of_pages(scheme) => false,
        // Other arguments may have a colon: addresses to listen on, titles.
        Shape::NoSlashes => after_postgres(value).is_some_and(|rest| rest.contains('@')),
        _ => has_password(value),
    }
}

/// An address with stars for its passwords; anything else is left as it is.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    if !has_password(text) {
        return Cow::Borrowed(text);
    }
    // Of pairs none is shown: values may be quoted, and have blanks in them. Nor is an address without
    // slashes.
    Cow::Owned(Parts::of(text).map_or_else(|| MASK.to_owned(), |parts| parts.print(Some(MASK))))
}

/// An address without its passwords, to be used by who has them from elsewhere.
#[cfg(any(test, feature = "postgres"))]
pub(super) fn without_passwords(text: &str) -> String {
    Parts::of(text).map_or_else(|| text.to_owned(), |parts| parts.print(None))
}

/// What an address begins with, up to `://`.
fn scheme(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find("://")?;
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_name && text[..end].chars().all(is_of_scheme)).then(|| &text[..end + 3])
}

/// Returns true for an address that lacks `://` or the scheme. A path with a colon in its first segment
/// counts as one: as in RFC 3986 §4.2, such a path must begin with `./`.
fn lacks_slashes(text: &str) -> bool {
    let text = text.trim_start();
    let is_file = text.starts_with("sqlite:") || text == ":memory:" || is_on_a_drive(text);
    let first = text.strip_prefix("//").unwrap_or(text).split('/').next().unwrap_or_default();
    !is_file && (first.contains(':') || after_postgres(text).is_some())
}

/// Returns true for a path that begins with a drive letter of Windows.
fn is_on_a_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// Returns the text after `postgres:`, `postgresql:`, `postgres//` or `postgresql//`.
fn after_postgres(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find([':', '/'])?;
    let is_postgres =
        SCHEMES.iter().any(|scheme| is_same(scheme.trim_end_matches("://"), &text[..end]));
    let rest = &text[end..];
    let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix("//"))?;
    is_postgres.then_some(rest)
}

fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn is_of_pairs(text: &str) -> bool {
    let key = text.split_once('=').map(|(key, _)| key.trim());
    key.is_some_and(|key| KEYS.iter().any(|known| is_same(known, key)))
}

/// Whether a parameter is a password: by its name, which may be any if it cannot be read.
fn is_secret(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default();
    let is_password = |name: &str| name.contains("pass") && name != "passfile";
    decode(name, Plus::IsItself).is_none_or(|name| is_password(&name.to_ascii_lowercase()))
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let begin = text.len() - text.trim_start().len();
        let (scheme, rest) = text.split_at(begin + scheme(text)?.len());
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
            ("postgre://me:hunter2@h/d", "postgre://me:***@h/d", "postgre://me@h/d"),
            ("mysql://me:hunter2@h/d", "mysql://me:***@h/d", "mysql://me@h/d"),
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
            "mysql://me:secret@h/d",
            "--database=postgre://me:secret@h/d",
            "host=127.0.0.1 user=me password=secret",
            "--database=host=h password='se cret'",
            "postgres:me:secret@h",
            "--to= PostgreSQL://me:secret@h",
            "--from=postgresql:/me:secret@h/d",
            "--database=postgres//me:secret@h/d",
        ] {
            assert!(gives_away(OsStr::new(told)), "{told}");
        }
        for plain in [
            "postgres://me@h:5432/d",
            "postgres://h:5432/d",
            "postgres://h/d?passfile=x",
            "a:b@c",
            "--database=a.db",
            "--database=host=h dbname=d",
            "postgres:x.db",
            "127.0.0.1:80",
            "--listen=localhost:80",
            "Re: mail to me@h",
            // An endpoint's address has rules of its own.
            "https://me:secret@example.org/hook?pass=1",
        ] {
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
    }

    #[test]
    fn a_text_that_names_a_database_has_one_shape() {
        for (text, shape) in [
            ("PostgreSQL://h", Shape::Address),
            (" postgres://h", Shape::Address),
            ("sqlite://x.db", Shape::Foreign("sqlite")),
            ("postgre://h", Shape::Foreign("postgre")),
            ("mysql+x://h", Shape::Foreign("mysql+x")),
            ("host=h user=me", Shape::Pairs),
            (" Host = h", Shape::Pairs),
            ("dbname='a b' host=h", Shape::Pairs),
            ("sqlite:postgres://h", Shape::Path),
            ("./host=h", Shape::Path),
            ("a=b.db", Shape::Path),
            ("a.db", Shape::Path),
            ("://x", Shape::NoSlashes),
            ("postgres:user:password@host", Shape::NoSlashes),
            (" POSTGRESQL:/user:password@host/d", Shape::NoSlashes),
            ("postgres//user:password@host/d", Shape::NoSlashes),
            ("//user:password@host/d", Shape::NoSlashes),
            ("my_user:password@host/d", Shape::NoSlashes),
            ("mysql:x", Shape::NoSlashes),
            ("localhost:5432/d", Shape::NoSlashes),
            ("a:b.db", Shape::NoSlashes),
            ("./a:b.db", Shape::Path),
            ("/a:b.db", Shape::Path),
            ("d/a:b.db", Shape::Path),
            ("sqlite:a:b.db", Shape::Path),
            ("C:/d/a.db", Shape::Path),
            (r"C:\d\a.db", Shape::Path),
            (":memory:", Shape::Path),
            ("postgres/a.db", Shape::Path),
            ("postgres.db", Shape::Path),
            ("", Shape::Path),
        ] {
            assert_eq!(Shape::of(text), shape, "{text}");
        }
        assert_eq!(masked("host=h password=hunter2 user=x"), "***");
        assert_eq!(masked("postgres:user:hunter2@host"), "***");
    }
}
