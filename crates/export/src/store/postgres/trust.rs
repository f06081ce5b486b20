//! Which roles may have code in the tables and views of the program. Statements run the code of triggers,
//! rules, policies, defaults, constraints, indexes and views with the rights of this user.

use super::session::Session;
use super::tables::Access;
use crate::error::PostgresError;

/// Selects the roles that may have code in the tables: this user, roles from which it inherits rights, the
/// owners of the schema and of the database, and superusers. A superuser has the rights of every role, and
/// trusts none for that.
pub(super) const TRUSTED: &str = "SELECT r.oid FROM pg_catalog.pg_roles r, pg_catalog.pg_roles u \
     WHERE u.rolname = current_user AND (r.oid = u.oid OR r.rolsuper \
     OR (NOT u.rolsuper AND pg_has_role(u.oid, r.oid, 'USAGE')) \
     OR r.oid = (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = $1) \
     OR r.oid = (SELECT datdba FROM pg_catalog.pg_database WHERE datname = current_database()))";

/// The first reason to refuse the tables, if any. It follows the definition of `trusted`.
const PROBLEM: &str = include_str!("problem.sql");

/// Refuses views in place of tables, and tables through which an untrusted role could run code. The owner of
/// each table must be trusted, also for reading: an owner can add an index, whose expression the reader
/// evaluates, at any time, and a foreign child of the table. Triggers, and those of tables with a foreign key,
/// run for writing only.
pub(super) async fn check_tables(
    session: &Session,
    tables: &[String],
    access: Access,
) -> Result<(), PostgresError> {
    let (select, schema) = (format!("WITH trusted AS ({TRUSTED}), {PROBLEM}"), &session.schema);
    let is_write = access == Access::Write;
    let values = typed![schema => TEXT, tables => TEXT_ARRAY, is_write => BOOL];
    let problem = session.query(&select, values).await?.first().map(|row| {
        let (rank, table, part, owner): (i32, &str, &str, &str) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        let foreign = |what| PostgresError::Foreign {
            schema: schema.clone(),
            reason: format!("`{table}` of role `{owner}` {what}"),
        };
        match rank {
            1 => foreign("is not an ordinary table".to_owned()),
            3 => foreign(format!("has the rule `{part}`")),
            _ => PostgresError::Untrusted {
                object: format!("{part} {}", session.qualify(table)),
                owner: owner.to_owned(),
            },
        }
    });
    problem.map_or(Ok(()), Err)
}
