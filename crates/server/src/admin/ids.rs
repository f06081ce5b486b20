//! The identifiers that this service makes and accepts.

/// Longest identifier, in bytes.
const MAX_LEN: usize = 128;

/// 128 bits for a new id: UUID version 7, so that ids made later sort later and an index grows at
/// its end. Ids of one process strictly increase.
pub(crate) fn new_id() -> [u8; 16] {
    uuid::Uuid::now_v7().into_bytes()
}

/// Parses an id of this service, or returns the rule that the text breaks. Its ids need no encoding in
/// paths and pages, so a text that does is the id of nothing here.
pub fn parse_id<T: for<'t> TryFrom<&'t str>>(text: &str) -> Result<T, &'static str> {
    check_id(text)?;
    T::try_from(text).map_err(|_| "must be an id")
}

/// Returns the rule that an id breaks which this service does not make.
pub(crate) fn check_id(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        Err("cannot be empty")
    } else if text.len() > MAX_LEN {
        Err("must have at most 128 bytes")
    } else if text == "." || text == ".." {
        Err("cannot be a path step")
    } else if text.chars().any(|c| c.is_control() || c.is_whitespace() || "/\\?#%".contains(c)) {
        Err("must have no spaces, control characters, or any of / \\ ? # %")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::FormId;

    use super::*;

    #[test]
    fn id_that_needs_encoding_is_refused() {
        for good in ["42", "a.b~c", "é", "0190a0b0-0000-7000-8000-000000000000", "...", "a+b=c"] {
            assert_eq!(parse_id::<FormId>(good).unwrap().as_str(), good);
        }
        for bad in ["", " ", "a b", "a/b", "..", ".", "a?b", "a#b", "a%2fb", "a\u{0}", "a\\b"] {
            assert!(parse_id::<FormId>(bad).is_err(), "{bad:?}");
        }
        assert!(check_id(&"x".repeat(MAX_LEN)).is_ok());
        assert!(check_id(&"x".repeat(MAX_LEN + 1)).is_err());
    }

    #[test]
    fn ids_strictly_increase() {
        let ids: Vec<_> = (0..10_000).map(|_| new_id()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }
}
