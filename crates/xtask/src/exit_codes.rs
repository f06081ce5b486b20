//! The exit codes of the command line, from the table in formsvc-cli.

use formsvc_cli::exit::EXITS;

use crate::markdown::Section;

pub(crate) fn section() -> Section {
    let rows = EXITS.iter().map(|row| {
        let mut meaning = row.meaning.to_owned();
        // The table has fragments, for the help; the page has sentences.
        if let Some(first) = meaning.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        vec![format!("`{}`", row.exit.code()), format!("{meaning}.")]
    });
    Section {
        title: "Exit codes of `formsvc`",
        about: "What a script can rely on. Standard output is data only; what went wrong, why, and \
                what to\ndo about it are on standard error.",
        columns: &["Code", "Meaning"],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_unique_and_ascend() {
        let codes: Vec<u8> = EXITS.iter().map(|row| row.exit.code()).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
        assert_eq!(section().rows.len(), codes.len());
        assert_eq!(section().rows[0][0], "`0`");
    }
}
