//! Views of forms in a PostgreSQL database: one with texts, and one with the types that all values so far
//! allow. Columns are only appended.

use std::fmt::Write as _;

use formsvc_table::{ColumnType, FIXED_HEADINGS, LabelSet, TypeSet};
use tokio_postgres::error::SqlState;

use super::form::PgForm;
use super::session::get;
use super::trust::TRUSTED;
use crate::error::PostgresError;
use crate::sql::quoted;

/// The longest wait for queries that use a view, so that they do not block a run.
const LOCK_TIMEOUT: &str = "5s";
/// The time of a submission, exact to the microsecond.
const CREATED_AT: &str =
    "timestamptz '1970-01-01 00:00:00+00' + instant * interval '1 microsecond'";
/// The types of answers, as the server names them.
const ANSWER_TYPES: [&str; 3] = ["text", "numeric", "boolean"];

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ViewColumn {
    name: String,
    column_type: String,
}

impl PgForm {
    /// Creates the views or brings them up to date. A missing right, a long query and an object that
    /// depends on a view leave it as it is; then the reason becomes part of the changes. Must be last in
    /// a transaction.
    pub(super) async fn update_views(&mut self, labels: &LabelSet) -> Result<(), PostgresError> {
        self.changes.outdated.clear();
        let texts = columns(labels, |_| "text");
        self.update_view(&self.view.clone(), &texts, &["text"]).await?;
        let typed = columns(labels, |types| match types.column_type() {
            ColumnType::Boolean => "boolean",
            _ if types.is_numeric() => "numeric",
            _ => "text",
        });
        let view = format!("{}_typed", self.view);
        self.unfit = self.update_view(&view, &typed, &ANSWER_TYPES).await?;
        Ok(())
    }

    /// Updates a view whose answers have one of these types. Returns the conditions of rows with an answer
    /// that its column cannot hold.
    async fn update_view(
        &mut self,
        view: &str,
        wanted: &[ViewColumn],
        answer_types: &[&str],
    ) -> Result<Vec<String>, PostgresError> {
        let known = self.columns(view).await?;
        let name = self.session.qualify(view);
        let is_ours = |(known, wanted): (&ViewColumn, &ViewColumn)| {
            known.name == wanted.name
                && (known.column_type == wanted.column_type
                    || answer_types.contains(&&*known.column_type))
        };
        if !known.iter().zip(wanted).all(is_ours) {
            return Err(PostgresError::View(name));
        }
        let has_types = known.iter().zip(wanted).all(|(known, wanted)| known == wanted);
        if has_types && known.len() >= wanted.len() {
            return Ok(Vec::new());
        }
        let create = self.create_statement(&name, wanted);
        let update = if has_types {
            create
        } else {
            format!("DROP VIEW {name}; {create}; {}", self.grants(view, &name).await?)
        };
        let Some(refused) = self.run_or_undo(&update).await? else { return Ok(Vec::new()) };
        if refused == SqlState::DEPENDENT_OBJECTS_STILL_EXIST && known.len() < wanted.len() {
            let kept = [&known[..], &wanted[known.len()..]].concat();
            self.run_or_undo(&self.create_statement(&name, &kept)).await?;
        }
        let changed = (0..).zip(known.iter().zip(wanted));
        let changed: Vec<_> = changed.filter(|(_, (known, wanted))| known != wanted).collect();
        let names: Vec<String> =
            changed.iter().map(|(_, (known, _))| quoted(&known.name)).collect();
        let reason = self.describe_refusal(&refused, &name, known.is_empty(), &names).await?;
        self.changes.outdated.push(reason);
        let unfit = changed.iter().filter_map(|(index, (known, _))| {
            let (text, fits) = (answer(*index), fits(*index, &known.column_type)?);
            Some(format!("({text} IS NOT NULL AND NOT ({fits}))"))
        });
        Ok(unfit.collect())
    }

    /// Runs a statement. Undoes it and returns the code if the view cannot be changed at this time.
    async fn run_or_undo(&self, statement: &str) -> Result<Option<SqlState>, PostgresError> {
        const EXPECTED: [SqlState; 3] = [
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        ];
        let run = format!("SAVEPOINT v; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; {statement};");
        // Not by `Session::run`: a heading may contain the text of a placeholder.
        let Err(error) = self.session.client.batch_execute(&run).await else { return Ok(None) };
        match error.code().filter(|code| EXPECTED.contains(code)).cloned() {
            None => Err(error.into()),
            code => self.session.run("ROLLBACK TO SAVEPOINT v").await.map(|()| code),
        }
    }

    async fn describe_refusal(
        &self,
        code: &SqlState,
        view: &str,
        is_new: bool,
        changed: &[String],
    ) -> Result<String, PostgresError> {
        if *code == SqlState::DEPENDENT_OBJECTS_STILL_EXIST {
            return Ok(format!(
                "another object depends on the view {view}, so that columns keep their types: {}; \
                 drop that object and run sync again",
                changed.join(", ")
            ));
        }
        if *code == SqlState::LOCK_NOT_AVAILABLE {
            return Ok(format!(
                "a query has used the view {view} for more than {LOCK_TIMEOUT}; the next run adds \
                 the columns"
            ));
        }
        let user = self.session.query_one("SELECT current_user::text", &[]).await?;
        let (user, schema) = (quoted(user.get(0)), quoted(&self.session.schema));
        let owner = format!(" ALTER VIEW {view} OWNER TO {user};");
        Ok(format!(
            "this user cannot change the view {view}; its owner can run sync, or grant the right: \
             GRANT USAGE, CREATE ON SCHEMA {schema} TO {user};{}",
            if is_new { "" } else { &owner }
        ))
    }

    /// Returns the columns of a view; none if there is no view. Another object with its name and a view of
    /// a role that is not trusted are errors.
    async fn columns(&self, view: &str) -> Result<Vec<ViewColumn>, PostgresError> {
        const SELECT: &str = "SELECT c.relkind::text, a.attname::text, \
             format_type(a.atttypid, a.atttypmod), \
             pg_get_userbyid(c.relowner)::text, c.relowner IN (SELECT oid FROM trusted) \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
             WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum";
        let select = format!("WITH trusted AS ({TRUSTED}) {SELECT}");
        let values = typed![self.session.schema => TEXT, view => TEXT];
        let (rows, name) = (self.session.query(&select, values).await?, self.session.qualify(view));
        if rows.iter().any(|row| row.get::<_, &str>(0) != "v") {
            return Err(PostgresError::View(name));
        }
        if let Some(row) = rows.first().filter(|row| !row.get::<_, bool>(4)) {
            let (object, owner) = (format!("the view {name}"), row.get(3));
            return Err(PostgresError::Untrusted { object, owner });
        }
        let columns = rows.iter().filter_map(|row| {
            Some(ViewColumn { name: row.get::<_, Option<_>>(1)?, column_type: row.get(2) })
        });
        Ok(columns.collect())
    }

    /// Returns the statements that grant the rights on a view again after it was dropped.
    async fn grants(&self, view: &str, name: &str) -> Result<String, PostgresError> {
        const SELECT: &str = "SELECT coalesce(string_agg(format('GRANT %s ON %s TO %s%s;', \
             a.privilege_type, $3, CASE a.grantee WHEN 0 THEN 'PUBLIC' \
             ELSE quote_ident(pg_get_userbyid(a.grantee)) END, \
             CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END), ''), '') \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, \
             LATERAL aclexplode(c.relacl) a \
             WHERE n.nspname = $1 AND c.relname = $2 AND a.grantee <> c.relowner";
        let values = typed![self.session.schema => TEXT, view => TEXT, name => TEXT];
        get(&self.session.query_one(SELECT, values).await?, 0)
    }

    fn create_statement(&self, view: &str, columns: &[ViewColumn]) -> String {
        let mut sql = format!("CREATE OR REPLACE VIEW {view} AS SELECT id, {CREATED_AT}");
        let _ = write!(sql, " AS {}", FIXED_HEADINGS[1]);
        for (index, column) in (0..).zip(columns).skip(2) {
            let text = answer(index);
            let _ = match fits(index, &column.column_type) {
                Some(fits) => {
                    write!(sql, ", CASE WHEN {fits} THEN ({text})::{} END", column.column_type)
                }
                None => write!(sql, ", {text}"),
            };
            let _ = write!(sql, " AS {}", quoted(&column.name));
        }
        let (table, key) = (self.session.qualify("formsvc_submissions"), self.key);
        let _ = write!(sql, " FROM {table} WHERE source = {key} AND deleted_at IS NULL");
        sql
    }
}

fn columns(labels: &LabelSet, answer_type: impl Fn(TypeSet) -> &'static str) -> Vec<ViewColumn> {
    let fixed = FIXED_HEADINGS.into_iter().zip(["text", "timestamp with time zone", "text"]);
    let answers = labels.positions().map(|(_, label)| (&*label.heading, answer_type(label.types)));
    let columns = fixed.chain(answers).map(|(name, column_type)| ViewColumn {
        name: name.to_owned(),
        column_type: column_type.to_owned(),
    });
    columns.collect()
}

/// Returns the text of the answer in a column: position 0 is in column 2.
fn answer(index: usize) -> String {
    format!("cells ->> {}", index - 2)
}

/// Returns the condition that an answer can be cast to the type of its column; `None` for text.
fn fits(index: usize, column_type: &str) -> Option<String> {
    let text = answer(index);
    match column_type {
        "boolean" => Some(format!("{text} IN ('true', 'false')")),
        // The same numbers as in `TypeSet::is_numeric`.
        "numeric" => Some(format!(
            "length({text}) <= 300 AND {text} ~ '^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]{{1,3}})?$'"
        )),
        _ => None,
    }
}
