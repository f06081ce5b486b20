//! Writes the generated files, and finds those that are out of date.

use std::io;
use std::path::Path;

use crate::{
    cli_files, cli_page, config_page, contract_page, env_page, errors_page, faults_page,
    metrics_page, settings_page,
};

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Path relative to the workspace root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Returns every generated file with its current content.
pub fn all() -> Vec<Generated> {
    let file = |path: &str, text| Generated { path: path.to_owned(), text };
    let mut all = vec![
        file("docs/CLI.md", cli_page::page()),
        file("docs/CONFIG.md", config_page::page()),
        file("docs/CONTRACT.md", contract_page::page()),
        file("docs/ENV.md", env_page::page()),
        file("docs/ERRORS.md", errors_page::page()),
        file("docs/FAULTS.md", faults_page::page()),
        file("docs/METRICS.md", metrics_page::page()),
        file("docs/SETTINGS.md", settings_page::page()),
        file("docs/server.example.toml", formsvc_server::cmd::example()),
    ];
    all.extend(cli_files::all());
    all
}

/// Writes the files that are missing or differ. Returns their paths.
pub fn write(root: &Path) -> io::Result<Vec<String>> {
    let stale = stale(root)?;
    for file in all().into_iter().filter(|file| stale.contains(&file.path)) {
        let path = root.join(&file.path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, file.text)?;
    }
    Ok(stale)
}

/// Returns the paths of files that are missing or differ from their current content. Writes nothing.
pub fn stale(root: &Path) -> io::Result<Vec<String>> {
    let mut stale = Vec::new();
    for file in all() {
        match std::fs::read_to_string(root.join(&file.path)) {
            // Git may have converted the line ends to those of the platform.
            Ok(found) if found.replace("\r\n", "\n") == file.text => {}
            Ok(_) => stale.push(file.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => stale.push(file.path),
            Err(error) => return Err(error),
        }
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file for users, without the command that generates it.
    const FOR_USERS: &str = "docs/server.example.toml";

    #[test]
    fn written_files_are_fresh_until_edited() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let paths: Vec<_> = all().into_iter().map(|file| file.path).collect();
        assert_eq!(stale(dir).unwrap(), paths);
        assert_eq!(write(dir).unwrap(), paths);
        assert!(stale(dir).unwrap().is_empty());
        assert!(write(dir).unwrap().is_empty());
        std::fs::write(dir.join(&paths[0]), "edited by hand").unwrap();
        assert_eq!(stale(dir).unwrap(), paths[..1]);
    }

    #[test]
    fn generated_files_name_generator_and_end_in_line_feed() {
        for file in all() {
            let says_so = file.text.contains("cargo run -p xtask -- gen");
            assert!(says_so || file.path == FOR_USERS, "{}", file.path);
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"), "{}", file.path);
        }
    }
}
