//! The configuration file: TOML, flat, each key a setting of the table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeArray, DeTable, DeValue};

use super::table::{Kind, SETTINGS, Setting};
use crate::cmd::error::CommandError;
use crate::cmd::exit::Exit;
use crate::printable::Excerpt;
use crate::secrets::check_private;

/// More than a configuration file ever has, in bytes.
const LEN_MAX: u64 = 1 << 20;

/// What a configuration file sets.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    entries: BTreeMap<&'static str, Entry>,
}

/// A setting in a file.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    /// As they would stand on a command line; more than one only of lists.
    pub(super) values: Vec<String>,
    /// The line, from 1.
    pub(super) line: usize,
}

impl ConfigFile {
    /// Reads a file, and tells everything that is wrong with its settings; or why none can be read.
    pub(super) fn read(path: &Path) -> Result<(Self, Vec<CommandError>), CommandError> {
        let unread = |error| CommandError::unread(path, &error);
        let file = File::open(path).map_err(unread)?;
        let about = file.metadata().map_err(unread)?;
        let mut text = String::new();
        let read = (&file).take(LEN_MAX).read_to_string(&mut text).map_err(unread)?;
        if read as u64 == LEN_MAX {
            let long = io::Error::new(io::ErrorKind::InvalidData, "it has a mebibyte or more");
            return Err(unread(long));
        }
        let (entries, mut problems) = parse(path, &text)?;
        let is_secret = |(key, entry): (&&str, &Entry)| {
            let setting = Setting::of_key(key);
            setting.is_some_and(|s| entry.values.iter().any(|value| s.is_secret(value)))
        };
        if entries.iter().any(is_secret)
            && let Err(fault) = check_private(&about)
        {
            let told = CommandError::of(Exit::LocalIo, &fault).about(&path.display().to_string());
            problems.push(told.hint("it holds a password: `chmod 600` it"));
        }
        Ok((Self { path: path.to_owned(), entries }, problems))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn entry(&self, setting: &Setting) -> Option<&Entry> {
        self.entries.get(setting.key?)
    }

    /// Where an entry stands, for a message.
    pub(super) fn place(&self, entry: &Entry) -> String {
        place(&self.path, entry.line)
    }
}

fn place(path: &Path, line: usize) -> String {
    format!("`{}` line {line}", Excerpt(&path.display().to_string()))
}

/// The settings that can be read, and what is wrong with the others.
type Parsed = (BTreeMap<&'static str, Entry>, Vec<CommandError>);

fn parse(path: &Path, text: &str) -> Result<Parsed, CommandError> {
    let line_of =
        |span: Range<usize>| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let place = place(path, line_of(error.span().unwrap_or_default()));
        // Only the parser's rule: its display shows the line, which may hold a password.
        CommandError::usage(format!("{place}: no TOML: {}", Excerpt(error.message())))
    })?;
    let (mut entries, mut problems) = (BTreeMap::new(), Vec::new());
    for (key, value) in table.into_inner() {
        let line = line_of(key.span());
        match entry(key.get_ref(), value.get_ref()) {
            Ok((key, values)) => {
                entries.insert(key, Entry { values, line });
            }
            Err(error) => problems.push(error.at(&place(path, line))),
        }
    }
    Ok((entries, problems))
}

fn entry(key: &str, value: &DeValue<'_>) -> Result<(&'static str, Vec<String>), CommandError> {
    let Some((setting, known)) = Setting::of_key(key).and_then(|s| Some((s, s.key?))) else {
        let error = CommandError::usage(format!("there is no setting `{}`", Excerpt(key)));
        return Err(match nearest(key, SETTINGS.iter().filter_map(|setting| setting.key)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`formsvc-server config example` has them all"),
        });
    };
    let values = values(setting.kind, value).ok_or_else(|| {
        let shown = if setting.kind == Kind::Database { "that".into() } else { spelled(value) };
        let rule = setting.kind.in_file();
        CommandError::usage(format!("`{known}` cannot be {shown}: it must be {rule}"))
    })?;
    Ok((known, values))
}

/// The values of an entry, if they are of the kind.
fn values(kind: Kind, value: &DeValue<'_>) -> Option<Vec<String>> {
    // Other bases and `_` between digits are TOML's, and no flag reads them.
    let number =
        || value.as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
    let one = match kind {
        Kind::Text | Kind::Path | Kind::Database | Kind::Duration => value.as_str()?.to_owned(),
        Kind::Number => number()?.to_string(),
        Kind::NumberOrOff => match value.as_str() {
            Some("off") => "off".to_owned(),
            _ => number()?.to_string(),
        },
        Kind::Switch => value.as_bool()?.to_string(),
        Kind::List => return texts(value.as_array()?),
    };
    Some(vec![one])
}

fn texts(array: &DeArray<'_>) -> Option<Vec<String>> {
    // A comma would make two of one.
    let text = |text: &str| (!text.contains(',')).then(|| text.to_owned());
    array.iter().map(|item| item.get_ref().as_str().and_then(text)).collect()
}

/// A value of the wrong type, for a message.
fn spelled(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text `{}`", Excerpt(text)),
        DeValue::Integer(number) => format!("`{}`", Excerpt(number.as_str())),
        DeValue::Float(number) => format!("`{}`", Excerpt(number.as_str())),
        DeValue::Boolean(is) => format!("`{is}`"),
        DeValue::Datetime(time) => format!("the time `{time}`"),
        DeValue::Array(_) => "such a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The known name that a mistyped one is most like.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let nearest = alike.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (nearest.0 > 0.8).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<&'static str, Entry>, Vec<String>> {
        match parse(Path::new("s.toml"), text) {
            Ok((entries, problems)) if problems.is_empty() => Ok(entries),
            Ok((_, problems)) => Err(problems.iter().map(CommandError::told).collect()),
            Err(unread) => Err(vec![unread.told()]),
        }
    }

    #[test]
    fn each_kind_is_read_as_its_flag_would_have_it() {
        let text = "# ours\ndatabase = 'a.db'\nport = 8_080\nrate_limit = \"off\"\nsender_limit = 7\n\
            retry_base = \"5s\"\nallow_remote = true\ntrusted_proxy = [\n  \"::1\",\n  \"10.0.0.0/8\",\n]\n";
        let entries = read(text).unwrap();
        let values = |key: &str| entries[key].values.join(" ");
        assert_eq!(entries["database"], Entry { values: vec!["a.db".into()], line: 2 });
        assert_eq!((values("port"), values("rate_limit")), ("8080".into(), "off".into()));
        assert_eq!((values("sender_limit"), values("retry_base")), ("7".into(), "5s".into()));
        assert_eq!(
            (values("allow_remote"), values("trusted_proxy")),
            ("true".into(), "::1 10.0.0.0/8".into())
        );
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_value_and_rule_all_of_it() {
        let told =
            read("rate_limt = 3\n\nport = \"80\"\nallow_remote = \"yes\"\n[log]\nlevel = 1\n")
                .unwrap_err();
        assert_eq!(
            told,
            [
                "`s.toml` line 4: `allow_remote` cannot be the text `yes`: it must be true or false",
                "`s.toml` line 5: there is no setting `log`",
                "`s.toml` line 3: `port` cannot be the text `80`: it must be a whole number",
                "`s.toml` line 1: there is no setting `rate_limt`",
            ]
        );
        for bad in [
            "config = \"x\"",
            "retry_base = 10",
            "trusted_proxy = \"::1\"",
            "egress_allow = [\"a,b\"]",
            "port = 8080.0",
            "rate_limit = \"on\"",
            "port = 99999999999999999999",
        ] {
            assert_eq!(read(bad).unwrap_err().len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_broken_file_tells_the_line_and_not_what_stands_there() {
        let told = read("port = 1\ndatabase = \"postgres://me:hunter2@h/d\n").unwrap_err();
        assert!(told[0].starts_with("`s.toml` line 2: no TOML: "), "{told:?}");
        assert!(!told[0].contains("hunter2"), "{told:?}");
        let told = read("database = [\"postgres://me:hunter2@h/d\"]\n").unwrap_err();
        assert!(!told[0].contains("hunter2"), "{told:?}");
        let told = read("port = 1\nport = 2\n").unwrap_err();
        assert!(told[0].contains("line 2"), "{told:?}");
    }

    #[test]
    fn a_mistyped_key_finds_what_was_meant() {
        let keys = || SETTINGS.iter().filter_map(|setting| setting.key);
        for (typed, meant) in [
            ("rate_limt", "rate_limit"),
            ("databse", "database"),
            ("trusted_proxies", "trusted_proxy"),
        ] {
            assert_eq!(nearest(typed, keys()), Some(meant));
        }
        assert_eq!(nearest("zzz", keys()), None);
    }
}
