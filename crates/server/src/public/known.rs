//! Forms as they were last read, with their fields parsed: what lets a submission be judged without
//! asking the store.
//!
//! What is known may be out of date, for a form can be edited by another process. So nothing is
//! accepted by it alone: a submission carries the revision it was judged by, and the store refuses
//! another one. What would be refused is looked up again before it is.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use formsvc_protocol::{Form, PublicId};

use crate::api::{Problem, text_cause};
use crate::fields::Fields;
use crate::store::{PublicForm, Revision};

/// Forms that are known, at most, in each of the two halves.
const FORMS_MAX: usize = 2_048;
/// Bytes of the definitions they were parsed from, at most, in each of the two halves: 4 MiB.
const DEFINITIONS_MAX: usize = 4 << 20;

/// A form whose fields are parsed.
#[derive(Debug)]
pub(super) struct KnownForm {
    pub(super) form: Form,
    pub(super) revision: Revision,
    pub(super) fields: Fields,
    pub(super) origins: Option<Vec<String>>,
    /// Bytes of its page when it was built last; 0 before that.
    pub(super) page_bytes: AtomicUsize,
    /// Bytes it was parsed from.
    bytes: usize,
}

impl KnownForm {
    /// Parses the fields of a form as they are kept, which were judged when they came.
    fn parse(found: PublicForm) -> Result<Self, Problem> {
        let PublicForm { form, revision, fields, origins } = found;
        let bytes = fields.as_ref().map_or(0, String::len)
            + origins.iter().flatten().map(String::len).sum::<usize>();
        let fields = fields.map_or(Ok(Fields::free()), |json| Fields::parse(&json));
        let fields = fields.map_err(|error| {
            Problem::internal(text_cause(format!("the fields of form `{}`: {error}", form.id)))
        })?;
        Ok(Self { form, revision, fields, origins, page_bytes: AtomicUsize::new(0), bytes })
    }

    fn is(&self, found: &PublicForm) -> bool {
        self.revision == found.revision && self.form.id == found.form.id
    }
}

/// The forms that are known: those used of late, within bounds.
#[derive(Debug, Default)]
pub(super) struct KnownForms(Mutex<Halves>);

/// When the younger half is full it becomes the older, and what that had is forgotten; what is used
/// comes back to the younger.
#[derive(Debug, Default)]
struct Halves {
    young: HashMap<PublicId, Arc<KnownForm>>,
    old: HashMap<PublicId, Arc<KnownForm>>,
    /// Bytes of the younger.
    bytes: usize,
}

impl KnownForms {
    /// The form as it was last read, if it is known.
    pub(super) fn get(&self, id: &PublicId) -> Option<Arc<KnownForm>> {
        self.lock().get(id)
    }

    /// Keeps a form as it was read now. One that was not changed is not parsed again.
    pub(super) fn keep(&self, found: PublicForm) -> Result<Arc<KnownForm>, Problem> {
        let id = found.form.public_id.clone();
        if let Some(known) = self.get(&id).filter(|known| known.is(&found)) {
            return Ok(known);
        }
        let known = Arc::new(KnownForm::parse(found)?);
        self.lock().put(id, Arc::clone(&known));
        Ok(known)
    }

    /// Forgets a form that is none.
    pub(super) fn forget(&self, id: &PublicId) {
        self.lock().remove(id);
    }

    /// Whole after each call, so that whoever panicked left nothing half done.
    fn lock(&self) -> MutexGuard<'_, Halves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Halves {
    fn get(&mut self, id: &PublicId) -> Option<Arc<KnownForm>> {
        if let Some(known) = self.young.get(id) {
            return Some(Arc::clone(known));
        }
        let (id, known) = self.old.remove_entry(id)?;
        self.put(id, Arc::clone(&known));
        Some(known)
    }

    fn put(&mut self, id: PublicId, known: Arc<KnownForm>) {
        self.remove(&id);
        if self.young.len() >= FORMS_MAX || self.bytes + known.bytes > DEFINITIONS_MAX {
            self.old = mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += known.bytes;
        self.young.insert(id, known);
    }

    fn remove(&mut self, id: &PublicId) {
        self.old.remove(id);
        if let Some(known) = self.young.remove(id) {
            self.bytes -= known.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::{FormId, FormInstant, FormStatus};

    use super::*;
    use crate::fields;

    fn found(id: &str, revision: i64, fields: Option<String>) -> PublicForm {
        let now = FormInstant::from_micros(0).to_timestamp();
        let form = Form::new(
            FormId::new(id).unwrap(),
            PublicId::new(id).unwrap(),
            "T",
            FormStatus::Published,
            now.clone(),
            now,
        );
        PublicForm { form, revision: Revision(revision), fields, origins: None }
    }

    fn id(id: &str) -> PublicId {
        PublicId::new(id).unwrap()
    }

    fn sizes(forms: &KnownForms) -> (usize, usize) {
        let halves = forms.lock();
        let of = |half: &HashMap<_, Arc<KnownForm>>| half.values().map(|form| form.bytes).sum();
        let (young, old): (usize, usize) = (of(&halves.young), of(&halves.old));
        assert_eq!(halves.bytes, young);
        (halves.young.len() + halves.old.len(), young + old)
    }

    #[test]
    fn what_is_known_is_parsed_again_only_when_it_was_changed() {
        let forms = KnownForms::default();
        assert!(forms.get(&id("a")).is_none());
        let first = forms.keep(found("a", 1, None)).unwrap();
        assert!(Arc::ptr_eq(&first, &forms.get(&id("a")).unwrap()));
        assert!(Arc::ptr_eq(&first, &forms.keep(found("a", 1, None)).unwrap()));
        let fields = r#"[{"label":"A","type":"text"}]"#.to_owned();
        // A number that is lower is another one all the same.
        for revision in [2, 1] {
            let next = forms.keep(found("a", revision, Some(fields.clone()))).unwrap();
            assert!(next.fields.defined().is_some());
            assert!(Arc::ptr_eq(&next, &forms.get(&id("a")).unwrap()));
        }
        forms.forget(&id("a"));
        assert!(forms.get(&id("a")).is_none());
        assert_eq!(sizes(&forms), (0, 0));
    }

    #[test]
    fn fields_that_cannot_be_read_are_a_fault_and_not_kept() {
        let forms = KnownForms::default();
        assert!(forms.keep(found("a", 1, Some("[]".into()))).is_err());
        assert!(forms.get(&id("a")).is_none());
    }

    #[test]
    fn many_forms_take_no_more_than_so_many_places_and_those_in_use_stay() {
        let forms = KnownForms::default();
        let first = forms.keep(found("in-use", 1, None)).unwrap();
        for n in 0..3 * FORMS_MAX {
            forms.keep(found(&format!("f{n}"), 1, None)).unwrap();
            assert!(Arc::ptr_eq(&first, &forms.get(&id("in-use")).unwrap()));
        }
        let (known, _) = sizes(&forms);
        assert!((FORMS_MAX..=2 * FORMS_MAX).contains(&known), "{known}");
        assert!(forms.get(&id("f0")).is_none());
    }

    #[test]
    fn large_forms_take_no_more_than_so_many_bytes() {
        let forms = KnownForms::default();
        let padding = " ".repeat(fields::DEFINITIONS_MAX - 100);
        let large = format!(r#"[{{"label":"A","type":"text"}}{padding}]"#);
        for n in 0..100 {
            forms.keep(found(&format!("f{n}"), 1, Some(large.clone()))).unwrap();
        }
        let (known, bytes) = sizes(&forms);
        assert!((16..=32).contains(&known) && bytes <= 2 * DEFINITIONS_MAX, "{known} {bytes}");
    }
}
