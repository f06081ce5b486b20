//! What was just done: one table. The address of the page that says so carries the code, and no text.

/// Something that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Its code, as it stands in addresses.
    pub(super) code: &'static str,
    /// What the page says.
    pub(super) text: &'static str,
}

/// Everything there is to say.
pub(super) const SAID: &[Said] = &[
    said("created", "The form is there, as a draft. Add its fields, then publish it."),
    said("saved", "Saved."),
    said("unchanged", "There was nothing to change."),
    said("published", "Published: the form takes submissions now."),
    said("closed", "Closed: the form takes no submissions any more."),
    said("drafted", "A draft again: nobody but you can see the form."),
    said("revoked", "The key is revoked. Programs that use it are refused from now on."),
    said("enabled", "Enabled: waiting deliveries are made now."),
    said("disabled", "Disabled: deliveries wait, and new submissions make none."),
    said("removed", "The webhook is removed, and its secret erased."),
    said("resent", "The delivery is made once more, at once. Reload to see what came of it."),
    said("password", "Your password is changed, and all other sessions are ended."),
    said("others", "All other sessions are ended."),
    said("signed-out", "You are signed out."),
    said("password-set", "Your password is set, and you are signed in."),
    said("welcome", "Welcome. This is where your forms will be."),
];

const fn said(code: &'static str, text: &'static str) -> Said {
    Said { code, text }
}

/// What a code says; nothing for a code of somebody else's.
pub(super) fn of(code: &str) -> Option<&'static Said> {
    SAID.iter().find(|said| said.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_nothing_else_is_said() {
        let codes: BTreeSet<_> = SAID.iter().map(|said| said.code).collect();
        assert_eq!(codes.len(), SAID.len());
        assert_eq!(of("Your account is locked, call 555"), None);
        assert_eq!(of(""), None);
    }
}
