//! Which changes of the schema are allowed when a database is opened.

/// What opening a database may do to its schema. A server of an older release may be running on it, so that
/// only servers and `migrate` upgrade it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaPolicy {
    /// Create the tables in an empty database, and upgrade an older schema.
    Upgrade,
    /// Create the tables in an empty database; refuse an older schema.
    Create,
    /// Refuse an empty database and an older schema.
    Require,
}
