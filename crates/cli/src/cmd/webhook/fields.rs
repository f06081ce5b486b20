//! The columns of deliveries in tables, and the fields that `--json` selects.

use crate::output::Field;

/// The fields of a delivery with its content.
pub(in crate::cmd) const ALL_FIELDS: &[Field] = &[
    Field::new("capture"),
    Field::time("at"),
    Field::status("verdict"),
    Field::status("status"),
    Field::new("submission_id"),
    Field::new("attempt"),
    Field::new("event").last(),
    Field::new("form_id").last(),
    Field::new("took_ms").last(),
    Field::new("body_size").last(),
    Field::new("valid").json_only(),
    Field::new("secret").json_only(),
    Field::new("age_s").json_only(),
    Field::new("gap_ms").json_only(),
    Field::new("duplicate").json_only(),
    Field::new("answered_by").json_only(),
    Field::new("source").json_only(),
    Field::new("synthetic").json_only(),
    Field::new("peer").json_only(),
    Field::new("method").json_only(),
    Field::new("request_target").json_only(),
    Field::new("headers").json_only(),
    Field::object("body"),
    Field::new("body_b64").json_only(),
    Field::new("body_sha256").json_only(),
    Field::new("forwards").json_only(),
];

/// The fields of a delivery in lists, which have no content.
pub(in crate::cmd) const FIELDS: &[Field] = ALL_FIELDS.split_at(21).0;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formsvc_workbench::record::SCHEMA;

    use super::*;

    #[test]
    fn fields_are_the_members_of_the_record() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let members: BTreeSet<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let fields: BTreeSet<&str> = ALL_FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(fields, members);
        assert_eq!(FIELDS.last().unwrap().name, "request_target");
    }
}
