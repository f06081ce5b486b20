//! Where somebody goes after signing in: a page of the dashboard, and nowhere else.

/// The first page.
pub(super) const HOME: &str = "/dashboard";

/// A path to go to, if it is one of ours: below `/dashboard`, in plain characters, with no segment that
/// a browser or a proxy could make something else of. Anything else is the first page.
pub(super) fn next(asked: &str) -> &str {
    if is_ours(asked) { asked } else { HOME }
}

fn is_ours(asked: &str) -> bool {
    let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
    let Some(below) = path.strip_prefix(HOME) else { return false };
    if below.is_empty() {
        return is_plain(query);
    }
    let Some(below) = below.strip_prefix('/') else { return false };
    let is_segment = |segment: &str| !segment.is_empty() && segment != "." && segment != "..";
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    below.bytes().all(is_letter) && below.split('/').all(is_segment) && is_plain(query)
}

/// A query of our own pages: what it encodes is only ever read as text.
fn is_plain(query: &str) -> bool {
    query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~%+=&:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_dashboard_are_gone_to() {
        for path in [
            "/dashboard",
            "/dashboard/keys",
            "/dashboard/forms/frm_1/fields",
            "/dashboard/forms/frm_1?q=a%20b&before=2026-01-01T00:00:00.000Z",
            "/dashboard?said=saved",
        ] {
            assert_eq!(next(path), path);
        }
    }

    #[test]
    fn nothing_leads_elsewhere() {
        for path in [
            "",
            "/",
            "//evil.example",
            "https://evil.example/dashboard",
            "dashboard",
            "/dashboardx",
            "//evil.example/dashboard",
            "/\\evil.example",
            "/dashboard/../f/x",
            "/dashboard/..",
            "/dashboard/./x",
            "/dashboard//evil.example",
            "/dashboard/%2e%2e/f",
            "/dashboard/%2f",
            "/dashboard/\\..\\",
            "/dashboard\\",
            "/DASHBOARD",
            "/dashboard/a b",
            "/dashboard/\r\nx: y",
            "/dashboard?x=\r\nSet-Cookie: a",
            "/dashboard#@evil.example",
            "javascript:alert(1)",
            "/dashboard/",
            "/dashboard/a/",
            "/dashboard/é",
            "\t/dashboard",
            "/dashboard\t",
            "/dashboard?x=<script>",
            "/dashboard@evil.example",
            "/f/x",
        ] {
            assert_eq!(next(path), HOME, "{path:?}");
        }
    }
}
