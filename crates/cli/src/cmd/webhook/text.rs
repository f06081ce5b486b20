//! Texts about deliveries for a terminal.

use std::time::Duration;

use formsvc_workbench::verdict::VerdictCode;

/// Returns the verdict with a sign, for people.
pub(super) fn verdict_label(code: VerdictCode) -> &'static str {
    match code {
        VerdictCode::Valid => "✓ valid",
        VerdictCode::Unchecked => "? unchecked",
        VerdictCode::MissingSignature => "✗ missing signature",
        VerdictCode::MalformedSignature => "✗ malformed signature",
        VerdictCode::SignatureMismatch => "✗ signature mismatch",
        VerdictCode::SignatureTooOld => "✗ signature too old",
        VerdictCode::SignatureInFuture => "✗ signature in future",
        VerdictCode::PayloadTooLarge => "✗ payload too large",
        VerdictCode::BadEvent => "✗ bad event",
    }
}

/// Returns a short duration: `0.2ms`, `41ms`, `12.3s`, `66m40s`.
pub(super) fn took(duration: Duration) -> String {
    let tenths = (duration.as_micros() + 50) / 100;
    match tenths {
        0..100 => format!("{}.{}ms", tenths / 10, tenths % 10),
        100..9_995 => format!("{}ms", (tenths + 5) / 10),
        _ => seconds(duration),
    }
}

/// Returns a duration of seconds or more: `0.2s`, `12.3s`, `66m40s`, `2h30m`.
pub(super) fn seconds(duration: Duration) -> String {
    let (secs, tenths) = (duration.as_secs(), (duration.as_millis() + 50) / 100);
    match secs {
        0..100 => format!("{}.{}s", tenths / 10, tenths % 10),
        100..6_000 => format!("{}m{:02}s", secs / 60, secs % 60),
        _ => format!("{}h{:02}m", secs / 3_600, secs % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use formsvc_workbench::verdict::VERDICTS;

    use super::*;

    #[test]
    fn verdict_label_is_the_name_with_a_sign() {
        for row in VERDICTS {
            let sign = match row.code {
                VerdictCode::Valid => '✓',
                VerdictCode::Unchecked => '?',
                _ => '✗',
            };
            assert_eq!(verdict_label(row.code), format!("{sign} {}", row.label()));
        }
    }

    #[test]
    fn duration_unit_depends_on_its_length() {
        for (micros, text) in [
            (200, "0.2ms"),
            (9_940, "9.9ms"),
            (41_300, "41ms"),
            (999_400, "999ms"),
            (999_500, "1.0s"),
            (12_340_000, "12.3s"),
            (4_000_000_000, "66m40s"),
            (9_000_000_000, "2h30m"),
        ] {
            assert_eq!(took(Duration::from_micros(micros)), text);
        }
    }
}
