//! The generated files: what they are, writing them, and finding the stale ones.

use std::io;
use std::path::Path;

use crate::{cli_page, env_page, errors_page, faults_page, metrics_page, settings_page};

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Path below the workspace root, with `/`.
    pub path: &'static str,
    /// Its whole text.
    pub text: String,
}

/// Every generated file, as it should be.
pub fn all() -> Vec<Generated> {
    vec![
        Generated { path: "docs/CLI.md", text: cli_page::page() },
        Generated { path: "docs/ENV.md", text: env_page::page() },
        Generated { path: "docs/ERRORS.md", text: errors_page::page() },
        Generated { path: "docs/FAULTS.md", text: faults_page::page() },
        Generated { path: "docs/METRICS.md", text: metrics_page::page() },
        Generated { path: "docs/SETTINGS.md", text: settings_page::page() },
        Generated {
            path: "docs/openapi.json",
            text: formsvc_server::openapi::document().to_owned(),
        },
        Generated { path: "docs/server.example.toml", text: formsvc_server::cmd::example() },
    ]
}

/// Writes the files that are missing or differ; their paths.
pub fn write(root: &Path) -> io::Result<Vec<&'static str>> {
    let stale = stale(root)?;
    for file in all().into_iter().filter(|file| stale.contains(&file.path)) {
        let path = root.join(file.path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, file.text)?;
    }
    Ok(stale)
}

/// Paths of the files that are missing or differ from what would be written. Reads only.
pub fn stale(root: &Path) -> io::Result<Vec<&'static str>> {
    let mut stale = Vec::new();
    for file in all() {
        match std::fs::read_to_string(root.join(file.path)) {
            // A checkout may have turned the line ends into the platform's.
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

    #[test]
    fn what_is_written_is_fresh_until_it_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let paths: Vec<_> = all().into_iter().map(|file| file.path).collect();
        assert_eq!(stale(dir).unwrap(), paths);
        assert_eq!(write(dir).unwrap(), paths);
        assert!(stale(dir).unwrap().is_empty());
        assert!(write(dir).unwrap().is_empty());
        std::fs::write(dir.join(paths[0]), "edited by hand").unwrap();
        assert_eq!(stale(dir).unwrap(), [paths[0]]);
    }

    #[test]
    fn generated_files_say_so_and_end_in_one_line_feed() {
        for file in all() {
            assert!(file.text.contains("cargo run -p xtask -- gen"), "{}", file.path);
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"), "{}", file.path);
        }
    }
}
