//! The size of the tests: a short run by default, a long run for `just soak`.

/// Environment variable that selects the long run.
const VARIABLE: &str = "FORMSVC_SOAK";

/// Returns true in the long run.
pub fn is_long() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Returns the first value in the short run, the second in the long run.
pub fn scaled<T>(usual: T, long: T) -> T {
    if is_long() { long } else { usual }
}
