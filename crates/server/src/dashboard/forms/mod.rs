//! Forms: the list of them, a new one, what a form asks, its settings, and what its status becomes.

pub(super) mod create;
mod editor;
pub(super) mod fields;
pub(super) mod list;
pub(super) mod settings;
pub(super) mod status;

use formsvc_protocol::{Form, FormStatus};
use url::Url;

use super::visit::Visit;

/// The pages of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Submissions,
    Fields,
    Channels,
    Deliveries,
    Settings,
}

impl Tab {
    /// Every page with what it is called and where it is, below the form.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Submissions, "Submissions", ""),
        (Self::Fields, "Fields", "/fields"),
        (Self::Channels, "Channels", "/channels"),
        (Self::Deliveries, "Deliveries", "/deliveries"),
        (Self::Settings, "Settings", "/settings"),
    ];
}

/// A link to a page of a form.
pub(super) struct TabView {
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) is_here: bool,
}

/// What stands above every page of a form.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) status: FormStatus,
    /// The path of the form's pages.
    pub(super) path: String,
    /// Where visitors find it.
    pub(super) public: String,
    pub(super) tabs: Vec<TabView>,
    /// Whether it can be published from here: not beside fields that were typed and not saved.
    pub(super) offers_publish: bool,
}

impl Head {
    pub(super) fn new(visit: &Visit, form: &Form, tab: Tab) -> Self {
        let path = path_of(form);
        let tabs = Tab::ALL.iter().map(|(this, name, below)| TabView {
            name,
            path: format!("{path}{below}"),
            is_here: *this == tab,
        });
        Self {
            title: form.title.clone(),
            status: form.status.clone(),
            public: public_url(&visit.address, form),
            offers_publish: form.status != FormStatus::Draft || tab != Tab::Fields,
            tabs: tabs.collect(),
            path,
        }
    }

    pub(super) fn is_draft(&self) -> bool {
        self.status == FormStatus::Draft
    }

    pub(super) fn is_published(&self) -> bool {
        self.status == FormStatus::Published
    }
}

/// The path of a form's pages.
pub(super) fn path_of(form: &Form) -> String {
    format!("/dashboard/forms/{}", form.id)
}

/// Where visitors find a form; its public id can be of any script.
fn public_url(address: &str, form: &Form) -> String {
    let parsed = Url::parse(address).ok().and_then(|mut url| {
        url.path_segments_mut().ok()?.clear().extend(["f", form.public_id.as_str()]);
        Some(url.to_string())
    });
    parsed.unwrap_or_else(|| address.to_owned())
}
