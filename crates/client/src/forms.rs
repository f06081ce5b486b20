//! The list of forms.

use std::ops::Deref;

use bytes::Bytes;
use formsvc_protocol::Form;

use crate::api_key::ApiKey;
use crate::decode::{Broken, RawList, item, json};
use crate::skipped_item::SkippedItem;

/// The forms of the key's owner, newest first: dereferences to a slice, and is an iterator's source.
///
/// A form that violates the API does not disturb the others: it is in
/// [`skipped`](Self::skipped).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    forms: Vec<Form>,
    skipped: Vec<SkippedItem>,
}

impl Forms {
    pub(crate) fn parse(body: &Bytes, key: &ApiKey) -> Result<Self, Broken> {
        let mut list = Self::default();
        let RawList { data, .. } = json(body)?;
        for (index, text) in data.into_iter().enumerate() {
            match item(text.get(), index, key) {
                Ok(form) => list.forms.push(form),
                Err(skipped) => list.skipped.push(skipped),
            }
        }
        Ok(list)
    }

    /// Returns the items of the list that violate the API. Their submissions can be read by
    /// their id: see [`Client::form`](crate::Client::form).
    pub fn skipped(&self) -> &[SkippedItem] {
        &self.skipped
    }

    /// Returns the forms without the skipped items.
    pub fn into_vec(self) -> Vec<Form> {
        self.forms
    }
}

impl Deref for Forms {
    type Target = [Form];

    fn deref(&self) -> &[Form] {
        &self.forms
    }
}

impl From<Vec<Form>> for Forms {
    fn from(forms: Vec<Form>) -> Self {
        Self { forms, skipped: Vec::new() }
    }
}

impl IntoIterator for Forms {
    type Item = Form;
    type IntoIter = std::vec::IntoIter<Form>;

    fn into_iter(self) -> Self::IntoIter {
        self.forms.into_iter()
    }
}

impl<'a> IntoIterator for &'a Forms {
    type Item = &'a Form;
    type IntoIter = std::slice::Iter<'a, Form>;

    fn into_iter(self) -> Self::IntoIter {
        self.forms.iter()
    }
}
