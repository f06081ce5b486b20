//! Whether a client wants a page or JSON.

use http::{HeaderMap, header};

/// What a client is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Page,
    Json,
}

/// Reads the `Accept` headers (RFC 9110 §12.5.1); without a preference it is `usual`. A client that
/// takes neither gets `usual` as well: it can do more with that than with a refusal.
pub(super) fn reply(headers: &HeaderMap, usual: Reply) -> Reply {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<_> = accepted.flat_map(|value| value.split(',')).filter_map(range).collect();
    if ranges.is_empty() {
        return usual;
    }
    let (page, json) = (quality(&ranges, "text", "html"), quality(&ranges, "application", "json"));
    match page.cmp(&json) {
        std::cmp::Ordering::Less => Reply::Json,
        std::cmp::Ordering::Equal => usual,
        std::cmp::Ordering::Greater => Reply::Page,
    }
}

/// A media range and its quality in thousandths.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u16,
}

/// `None` for what is no range.
fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let quality = parts.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let quality = quality.map_or(Some(1_000), thousandths)?;
    Some(Range { kind: kind.trim(), subtype: subtype.trim(), quality })
}

/// `0` to `1` with at most three digits after the point.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = format!("{fraction:0<3}").parse::<u16>().ok().filter(|_| digits)?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(1_000),
        _ => None,
    }
}

/// The quality of a type: that of the most specific range it falls into.
fn quality(ranges: &[Range<'_>], kind: &str, subtype: &str) -> u16 {
    let of = |wanted_kind: &str, wanted_subtype: &str| {
        let fits = |range: &&Range<'_>| {
            range.kind.eq_ignore_ascii_case(wanted_kind)
                && range.subtype.eq_ignore_ascii_case(wanted_subtype)
        };
        ranges.iter().filter(fits).map(|range| range.quality).max()
    };
    of(kind, subtype).or_else(|| of(kind, "*")).or_else(|| of("*", "*")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn wanted(accept: &[&str], usual: Reply) -> Reply {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        }
        reply(&headers, usual)
    }

    #[test]
    fn the_better_quality_wins_and_the_usual_breaks_ties() {
        for json in [
            "application/json",
            "APPLICATION/JSON",
            "application/json, */*;q=0.5",
            "text/html;q=0.9, application/json",
            "application/*, text/html;q=0.1",
            "*/*, text/html;q=0",
            "*/*;q=0.1, application/json;q=0.101",
            "application/json;charset=utf-8;q=0.2, text/*;q=0.1",
        ] {
            assert_eq!(wanted(&[json], Reply::Page), Reply::Json, "{json}");
            assert_eq!(wanted(&[json], Reply::Json), Reply::Json, "{json}");
        }
        for page in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
            "text/html",
            "text/*;q=0.3, */*;q=0.2",
            "application/json;q=0.8, text/html;q=0.9",
        ] {
            assert_eq!(wanted(&[page], Reply::Json), Reply::Page, "{page}");
        }
        for tie in
            ["*/*", "", "image/png", "text/html, application/json", "junk", "*/*;q=x", "a/b/c"]
        {
            assert_eq!(wanted(&[tie], Reply::Page), Reply::Page, "{tie}");
            assert_eq!(wanted(&[tie], Reply::Json), Reply::Json, "{tie}");
        }
        assert_eq!(wanted(&[], Reply::Json), Reply::Json);
    }

    #[test]
    fn several_headers_are_one_list() {
        assert_eq!(wanted(&["text/html;q=0.5", "application/json"], Reply::Page), Reply::Json);
    }

    #[test]
    fn quality_has_three_digits() {
        for (text, quality) in
            [("1", 1_000), ("1.000", 1_000), ("0", 0), ("0.5", 500), ("0.05", 50)]
        {
            assert_eq!(thousandths(text), Some(quality), "{text}");
        }
        for bad in ["", "1.001", "2", "-1", "0.0001", "0.5x", ".5", "NaN", "+1"] {
            assert_eq!(thousandths(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read(value in "[ -~]{0,40}") {
            wanted(&[&value], Reply::Page);
        }
    }
}
