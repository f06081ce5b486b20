//! Views of forms in a PostgreSQL database. Columns are text and are only appended.

use std::fmt::Write as _;

use tokio_postgres::error::SqlState;

use super::form::PgForm;
use super::trust::TRUSTED;
use crate::error::PostgresError;
use crate::sql::quoted;
use crate::store::labels::{FIXED_COLUMNS, LabelSet};

/// The longest wait for queries that use the view, so that they do not block a run.
const LOCK_TIMEOUT: &str = "5s";

impl PgForm {
    /// Creates the view or adds columns to it, unless it is current. A missing right and a long query
    /// leave it as it is; then the reason and a hint become part of the changes. Must be the last
    /// statement of a transaction.
    pub(super) async fn update_view(&mut self, labels: &LabelSet) -> Result<(), PostgresError> {
        self.changes.outdated = None;
        let view = self.session.qualify(&self.view);
        let known = self.columns().await?;
        let headings = labels.positions().map(|(_, label)| &*label.heading);
        let wanted: Vec<&str> = FIXED_COLUMNS.into_iter().chain(headings).collect();
        if !known.iter().zip(&wanted).all(|(known, wanted)| known == wanted) {
            return Err(PostgresError::View { view });
        }
        if known.len() >= wanted.len() {
            return Ok(());
        }
        let create = self.create_statement(labels);
        let update = format!("SAVEPOINT v; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; {create};");
        // Not by `Session::run`: a heading may contain the text of a placeholder.
        let Err(error) = self.session.client.batch_execute(&update).await else {
            return Ok(());
        };
        self.session.run("ROLLBACK TO SAVEPOINT v").await?;
        self.changes.outdated = Some(match error.code() {
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                let user = self.session.query_one("SELECT current_user::text", &[]).await?;
                let (user, schema) = (quoted(user.get(0)), quoted(&self.session.schema));
                let owner = format!(" ALTER VIEW {view} OWNER TO {user};");
                format!(
                    "this user cannot change the view {view}; its owner can run sync, or grant the \
                     right: GRANT USAGE, CREATE ON SCHEMA {schema} TO {user};{}",
                    if known.is_empty() { "" } else { &owner }
                )
            }
            Some(&SqlState::LOCK_NOT_AVAILABLE) => format!(
                "a query has used the view {view} for more than {LOCK_TIMEOUT}; the next run adds \
                 the columns"
            ),
            _ => return Err(error.into()),
        });
        Ok(())
    }

    /// Returns the columns of the view; none if there is no view. Another object with its name and a view of
    /// a role that is not trusted are errors.
    async fn columns(&self) -> Result<Vec<String>, PostgresError> {
        const SELECT: &str = "SELECT c.relkind::text, a.attname::text, \
             pg_get_userbyid(c.relowner)::text, c.relowner IN (SELECT oid FROM trusted) \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
             WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum";
        let select = format!("WITH trusted AS ({TRUSTED}) {SELECT}");
        let values = typed![self.session.schema => TEXT, self.view => TEXT];
        let rows = self.session.query(&select, values).await?;
        let view = || self.session.qualify(&self.view);
        if rows.iter().any(|row| row.get::<_, &str>(0) != "v") {
            return Err(PostgresError::View { view: view() });
        }
        if let Some(row) = rows.first().filter(|row| !row.get::<_, bool>(3)) {
            let (object, owner) = (format!("the view {}", view()), row.get(2));
            return Err(PostgresError::Untrusted { object, owner });
        }
        Ok(rows.iter().filter_map(|row| row.get(1)).collect())
    }

    fn create_statement(&self, labels: &LabelSet) -> String {
        let [id, created_at, others] = FIXED_COLUMNS;
        let mut sql = format!(
            "CREATE OR REPLACE VIEW {} AS SELECT {id}, {created_at}, cells ->> 0 AS {others}",
            self.session.qualify(&self.view)
        );
        for (position, label) in labels.positions() {
            let _ = write!(sql, ", cells ->> {position} AS {}", quoted(&label.heading));
        }
        let (table, key) = (self.session.qualify("formsvc_submissions"), self.key);
        let _ = write!(sql, " FROM {table} WHERE source = {key} AND deleted_at IS NULL");
        sql
    }
}
