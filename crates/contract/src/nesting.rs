//! The nesting depth of JSON text. Recursive code checks it before it walks JSON from strangers: each
//! level takes stack, and a stack overflow ends the process.

/// Deepest nesting of arrays and objects that recursive code reads.
pub const DEPTH_MAX: usize = 128;

/// Returns the number of arrays and objects around the innermost value. Takes no stack.
///
/// ```
/// assert_eq!(formsvc_contract::nesting::depth(br#"{"a":[1,{}],"b":"[[[["}"#), 3);
/// ```
pub fn depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_ignores_brackets_in_strings() {
        for (json, expected) in [
            ("1", 0),
            ("{}", 1),
            (r#"{"a":1,"b":[]}"#, 2),
            (r#"{"[[[":"{{{\"[[","b":{"c":[[]]},"d":[]}"#, 4),
            (r#"{"a":"\\","b":[[]]}"#, 3),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
        assert_eq!(depth("[".repeat(1 << 20).as_bytes()), 1 << 20);
    }
}
