//! The forms of a database, and how completely it has their submissions.

use formsvc_client::Timestamp;

use super::{RowStore, SourceKey, count_read};
use crate::coverage::Coverage;
use crate::error::{StoreError, StoreProblem};

/// A form in a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncStatus {
    /// The address of the service.
    pub origin: String,
    /// The form.
    pub form_id: String,
    /// Its public id, if it was listed in a sync.
    pub public_id: Option<String>,
    /// Its title, if it was listed in a sync.
    pub title: Option<String>,
    /// The view of the form; `None` before its first sync has begun.
    pub view: Option<String>,
    /// Submissions that the service has, as far as known.
    pub rows: u64,
    /// Submissions that are marked as deleted.
    pub deleted: u64,
    /// The time of the newest submission.
    pub newest: Option<Timestamp>,
    /// The time intervals of which every submission is stored. A complete form has one.
    pub coverage: Coverage,
    /// The key of the form.
    pub(crate) key: i64,
}

/// Reads a time that sync stored. A text that another program wrote may be none.
pub(crate) fn stored_time(text: Option<String>) -> Option<Timestamp> {
    text?.parse().ok()
}

impl RowStore {
    pub(crate) fn status(&self) -> Result<Vec<SyncStatus>, StoreError> {
        const SELECT: &str = "SELECT key, origin, form_id, title, view, public_id, \
             (SELECT count(*) FROM submissions WHERE source = key AND deleted_at IS NOT NULL), \
             (SELECT created_at FROM submissions WHERE source = key ORDER BY instant DESC LIMIT 1) \
             FROM sources ORDER BY key";
        self.begin_read()?;
        let mut forms = self.run(|connection| {
            let (mut forms, mut bytes) = (Vec::new(), 0);
            let mut select = connection.prepare(SELECT)?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let form = SyncStatus {
                    key: row.get(0)?,
                    origin: row.get(1)?,
                    form_id: row.get(2)?,
                    public_id: row.get(5)?,
                    title: row.get(3)?,
                    view: row.get(4)?,
                    rows: 0,
                    deleted: row.get::<_, i64>(6)?.unsigned_abs(),
                    newest: stored_time(row.get(7)?),
                    coverage: Coverage::default(),
                };
                let SyncStatus { origin, form_id, public_id, title, view, .. } = &form;
                let optional = [public_id, title, view].into_iter().flatten();
                let counted = count_read("sources", &mut bytes, optional.chain([origin, form_id]));
                counted.map_err(StoreProblem::Damaged)?;
                forms.push(form);
            }
            Ok(forms)
        })?;
        for form in &mut forms {
            let source = SourceKey(form.key);
            form.rows = self.total(source)?;
            form.coverage = self.coverage(source)?;
        }
        Ok(forms)
    }
}
