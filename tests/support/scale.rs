//! How much of it: the usual run of the tests is short, `just soak` is long.

/// Set for the long run.
const VARIABLE: &str = "FORMSVC_SOAK";

/// Whether this is the long run.
pub fn is_long() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The first in the usual run, the second in the long one.
pub fn scaled<T>(usual: T, long: T) -> T {
    if is_long() { long } else { usual }
}
