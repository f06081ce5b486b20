//! E-mail addresses, by their shape.

/// Longest address, in bytes, as mail servers have it.
const LENGTH_MAX: usize = 254;
/// Longest label of a domain, in bytes.
const DOMAIN_LABEL_MAX: usize = 63;

/// Whether a text has the shape of an address: what browsers take for one (HTML, "valid e-mail
/// address"), and the same with letters of any script. Whether mail arrives only mail can tell.
pub(super) fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    text.len() <= LENGTH_MAX
        && !local.is_empty()
        && local.chars().all(|c| is_letter(c) || ".!#$%&'*+/=?^_`{|}~-".contains(c))
        && domain.split('.').all(is_domain_label)
}

fn is_domain_label(label: &str) -> bool {
    (1..=DOMAIN_LABEL_MAX).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.chars().all(|c| is_letter(c) || c == '-')
}

/// Letters, digits, and the marks that some scripts put on them. What is not ASCII and has no use in
/// a name (spaces, controls, what shows as nothing) is none.
fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        !c.is_whitespace() && !formsvc_protocol::is_unsafe_in_terminals(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_shape() {
        for good in [
            "a@b",
            "ada@example.org",
            "a.b+c@mail.example.co",
            "o'neil@example.org",
            "zoë@exämple.org",
            "用户@例子.广告",
            "x@xn--exmple-cua.org",
            "a/b=c@d.e",
        ] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "@",
            "a@",
            "@b",
            "plain",
            "a b@c",
            "a@b c",
            "a@b@c",
            "a@.b",
            "a@b.",
            "a@b..c",
            "a@-b",
            "a@b-",
            "a@b_c",
            "\"a\"@b",
            "a,b@c",
            "<a@b>",
            "a@b\n",
            "a\u{202e}@b",
            "a@[127.0.0.1]",
            "a\u{a0}b@c",
        ] {
            assert!(!is_address(bad), "{bad:?}");
        }
        assert!(is_address(&format!("{}@b", "x".repeat(252))));
        assert!(!is_address(&format!("{}@b", "x".repeat(253))));
        assert!(!is_address(&format!("a@{}", "x".repeat(64))));
    }
}
