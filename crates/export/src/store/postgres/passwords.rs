//! Passwords from `PGPASSWORD` and from a password file, as libpq reads them.

use std::path::{Path, PathBuf};

/// Returns the password file: that of the address, `PGPASSFILE` or `~/.pgpass`.
pub(super) fn password_file(address: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty());
    let default = || Some(std::env::home_dir()?.join(".pgpass"));
    address.map(Path::to_owned).or_else(|| variable().map(PathBuf::from)).or_else(default)
}

/// Reads the password file. A missing one is empty; one that others can read is ignored with a
/// warning.
pub(super) fn read_password_file(path: &Path) -> Result<String, String> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(String::new()) };
    let shown = path.display();
    if !found.is_file() {
        return Err(format!("password file `{shown}` is ignored, because it is not a plain file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        return Err(format!(
            "password file `{shown}` is ignored, because others can read it; `chmod 600` allows its use"
        ));
    }
    std::fs::read_to_string(path).map_err(|error| format!("password file `{shown}`: {error}"))
}

/// Returns the password of the first line `host:port:database:user:password` that matches. `*`
/// matches any value; a backslash precedes a colon or a backslash.
pub(super) fn find_password(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = split(line);
        let password = fields.pop().filter(|password| !password.is_empty())?;
        let is_match = |(name, wanted): (&String, &&str)| name == "*" || name == wanted;
        let matches = fields.len() == wanted.len() && fields.iter().zip(&wanted).all(is_match);
        matches.then_some(password)
    })
}

/// Splits a line at its first four colons.
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let count = fields.len();
        let field = fields.last_mut().expect("there is a field");
        match c {
            '\\' => field.extend(chars.next()),
            ':' if count < 5 => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_line_has_the_password() {
        let text = "# comment\nother:5432:d:u:no\nh:5433:*:u:no\n\
             h:*:d:u:a\\:b\\\\c:d\nh:*:*:*:late\nbroken\n";
        let find = |host, database| find_password(text, [host, "5432", database, "u"]);
        assert_eq!(find("h", "d").as_deref(), Some("a:b\\c:d"));
        assert_eq!(find("h", "e").as_deref(), Some("late"));
        assert_eq!(find("x", "e"), None);
    }

    #[cfg(unix)]
    #[test]
    fn password_file_that_others_can_read_is_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        assert_eq!(read_password_file(&path).unwrap(), "");
        std::fs::write(&path, "h:*:*:*:secret").unwrap();
        for (mode, is_read) in [(0o600, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let read = read_password_file(&path);
            assert_eq!(read.is_ok(), is_read, "{read:?}");
            assert!(read.err().is_none_or(|warning| !warning.contains("secret")));
        }
    }
}
