//! How far the colours of a style stand apart (WCAG 2.2), for the tests of styles.

use std::collections::HashMap;

/// A pair of colours by their names, and the least contrast between them.
pub(crate) type Pair = (&'static str, &'static str, f64);

/// That pairs of colours stand apart in the light scheme of a style and in its dark one.
///
/// # Panics
///
/// When a pair does not.
pub(crate) fn assert_stands_out(style: &str, pairs: &[Pair]) {
    for (name, scheme) in ["light", "dark"].into_iter().zip(schemes(style)) {
        for (front, back, least) in pairs {
            let (a, b) = (scheme[front], scheme[back]);
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= *least, "{front} on {back}, {name}: {contrast}");
        }
    }
}

/// The colours of the light scheme, then of the dark one, by name.
fn schemes(style: &str) -> [HashMap<&str, f64>; 2] {
    let mut schemes = [HashMap::new(), HashMap::new()];
    let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
    for (scheme, text) in schemes.iter_mut().zip([light, dark]) {
        for line in text.lines() {
            let colour = line.trim().strip_prefix("--").and_then(|line| line.split_once(": #"));
            if let Some((name, digits)) = colour {
                scheme.insert(name, luminance(digits.trim_end_matches(';')));
            }
        }
    }
    schemes
}

/// Relative luminance (WCAG 2.2).
fn luminance(digits: &str) -> f64 {
    let channel = |at: usize| {
        let share = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}
