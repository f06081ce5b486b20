//! The error codes of the REST API, from the table in formsvc-protocol.

use formsvc_protocol::ErrorCode;

use crate::markdown::Section;

pub(crate) fn section() -> Section {
    let rows = ErrorCode::KNOWN.iter().filter_map(|code| {
        let row = code.info()?;
        let specified = if row.specified { "yes" } else { "no" };
        Some(vec![
            format!("`{code}`"),
            row.status.to_string(),
            row.meaning.to_owned(),
            specified.to_owned(),
        ])
    });
    Section {
        title: "Error codes of the REST API",
        about: "Every error answer has the body `{\"error\":{\"code\":…,\"message\":…}}`. Match on \
                `code`,\nwhich is stable across releases; `message` is for people and may change. \
                Codes that are not\nin the specification (SPEC §7) are sent by the reference service \
                for conditions the\nspecification is silent on; another deployment may not send \
                them, and may send codes that\nare not in this table.",
        columns: &["Code", "Status", "Meaning", "In the specification"],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_has_its_row() {
        let rows = section().rows;
        assert_eq!(rows.len(), ErrorCode::KNOWN.len());
        assert_eq!(rows[3], ["`key_revoked`", "401", "Key was revoked.", "yes"]);
    }
}
