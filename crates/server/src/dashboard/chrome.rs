//! What stands around every page: who is signed in, where they are, and what was just done.

use super::policy::STYLE_NAME;
use super::said::{self, Said};

/// The parts of the dashboard that the bar at the top leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Forms,
    Keys,
    Account,
    /// None of them.
    Elsewhere,
}

/// What stands around a page.
#[derive(Clone, Debug)]
pub(super) struct Chrome {
    pub(super) style: &'static str,
    /// The e-mail address of who is signed in.
    pub(super) email: Option<String>,
    /// What every form carries.
    pub(super) token: String,
    pub(super) section: Section,
    pub(super) said: Option<&'static Said>,
}

impl Chrome {
    /// Around a page for somebody unknown.
    pub(super) fn of_stranger() -> Self {
        Self {
            style: STYLE_NAME.as_str(),
            email: None,
            token: String::new(),
            section: Section::Elsewhere,
            said: None,
        }
    }

    /// The same in a part of the dashboard.
    pub(super) fn at(&self, section: Section) -> Self {
        Self { section, ..self.clone() }
    }

    /// The same with what was just done, by its code.
    pub(super) fn saying(self, code: &str) -> Self {
        Self { said: said::of(code), ..self }
    }

    pub(super) fn is_at_forms(&self) -> bool {
        self.section == Section::Forms
    }

    pub(super) fn is_at_keys(&self) -> bool {
        self.section == Section::Keys
    }

    pub(super) fn is_at_account(&self) -> bool {
        self.section == Section::Account
    }
}
