//! Why definitions were refused.

/// Definitions of fields break a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: `{value}` {rule}")]
pub struct FieldsError {
    /// Where: "the fields", "field 3", "field 3 (`Age`)".
    pub place: String,
    /// The value, cut when it is long, with what could disturb a terminal escaped.
    pub value: String,
    /// The rule, as the end of a sentence: "is the label of field 1 already".
    pub rule: String,
}
