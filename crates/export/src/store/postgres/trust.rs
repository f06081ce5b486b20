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

/// The first reason to refuse the tables, if any: its rank, the table, a part of it and the name of a role.
/// The server records which functions, operators and types a part uses, without its own.
const PROBLEM: &str = "tables AS (SELECT c.oid, c.relname::text AS name, c.relkind, c.relowner, \
     c.relowner IN (SELECT oid FROM trusted) AS is_trusted \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relname::text = ANY($2)), \
     parts (relid, catalog, id, part) AS ( \
     SELECT oid, 'pg_catalog.pg_class'::regclass, oid, 'a column of' FROM tables \
     UNION ALL SELECT tgrelid, 'pg_catalog.pg_trigger'::regclass, oid, 'trigger `' || tgname || '` of' \
     FROM pg_catalog.pg_trigger WHERE $3 AND NOT tgisinternal \
     UNION ALL SELECT polrelid, 'pg_catalog.pg_policy'::regclass, oid, 'policy `' || polname || '` of' \
     FROM pg_catalog.pg_policy \
     UNION ALL SELECT adrelid, 'pg_catalog.pg_attrdef'::regclass, oid, 'a default of' \
     FROM pg_catalog.pg_attrdef \
     UNION ALL SELECT conrelid, 'pg_catalog.pg_constraint'::regclass, oid, \
     'constraint `' || conname || '` of' FROM pg_catalog.pg_constraint \
     UNION ALL SELECT stxrelid, 'pg_catalog.pg_statistic_ext'::regclass, oid, \
     'statistics `' || stxname || '` of' FROM pg_catalog.pg_statistic_ext \
     UNION ALL SELECT i.indrelid, 'pg_catalog.pg_class'::regclass, c.oid, 'index `' || c.relname || '` of' \
     FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid), \
     used AS (SELECT t.name, p.part, coalesce(f.proowner, o.oprowner, y.typowner) AS owner \
     FROM tables t JOIN parts p ON p.relid = t.oid \
     JOIN pg_catalog.pg_depend d ON d.classid = p.catalog AND d.objid = p.id \
     LEFT JOIN pg_catalog.pg_proc f \
     ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.refobjid \
     LEFT JOIN pg_catalog.pg_operator o \
     ON d.refclassid = 'pg_catalog.pg_operator'::regclass AND o.oid = d.refobjid \
     LEFT JOIN pg_catalog.pg_type y \
     ON d.refclassid = 'pg_catalog.pg_type'::regclass AND y.oid = d.refobjid) \
     SELECT rank, name, part, pg_get_userbyid(owner)::text FROM ( \
     SELECT 1 AS rank, name, '' AS part, relowner AS owner FROM tables WHERE relkind <> 'r' \
     UNION ALL SELECT 2, name, 'the table', relowner FROM tables WHERE NOT is_trusted \
     UNION ALL SELECT 3, t.name, r.rulename::text, t.relowner \
     FROM tables t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid \
     UNION ALL SELECT 4, name, part, owner FROM used WHERE owner NOT IN (SELECT oid FROM trusted) \
     UNION ALL SELECT 5, t.name, 'foreign key `' || k.conname || '` to', c.relowner \
     FROM tables t JOIN pg_catalog.pg_constraint k ON k.confrelid = t.oid \
     JOIN pg_catalog.pg_class c ON c.oid = k.conrelid \
     WHERE $3 AND c.relowner NOT IN (SELECT oid FROM trusted) \
     ) AS problems ORDER BY rank, name LIMIT 1";

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
