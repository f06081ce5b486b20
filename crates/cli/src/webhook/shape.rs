//! What flags about events and the pace of sending may be.

use http::HeaderValue;

/// A kind of event goes into a header and into JSON.
pub(crate) fn event(text: &str) -> Result<HeaderValue, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| is_plain)
        .ok_or_else(|| "expected a name without spaces, such as submission.created".to_owned())
}

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=100_000.0).contains(rate));
    rate.ok_or_else(|| "expected how many a second, from 0.001 to 100000".to_owned())
}

pub(crate) fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse::<f64>().ok().filter(|scale| (0.001..=1e6).contains(scale));
    scale.ok_or_else(|| "expected how many times shorter, from 0.001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_by_its_rule() {
        assert_eq!(rate("50"), Ok(50.0));
        assert_eq!(scale("60"), Ok(60.0));
        for bad in ["", "0", "-1", "nan", "inf", "1e9"] {
            assert!(rate(bad).is_err() && scale(bad).is_err(), "{bad}");
        }
        assert!(event("form.closed").is_ok());
        for bad in ["", "a b", "a\n", "é"] {
            assert!(event(bad).is_err(), "{bad:?}");
        }
    }
}
