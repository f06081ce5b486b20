//! The limits of SPEC §8, and the reference service's own limits where the specification has none.

use std::time::Duration;

/// Largest number of requests of one API key in any [`RATE_WINDOW`].
pub const RATE_LIMIT: u32 = 300;
/// Length of the rolling window of [`RATE_LIMIT`].
pub const RATE_WINDOW: Duration = Duration::from_secs(60);
/// Largest number of forms in the answer of `GET /api/v1/forms`.
pub const FORMS_LISTED_MAX: usize = 200;
/// Default of the submissions list's `limit`.
pub const PAGE_SIZE_DEFAULT: u32 = 25;
/// Largest `limit` of the submissions list.
pub const PAGE_SIZE_MAX: u32 = 100;
/// Largest size of a submission's answers, in bytes of JSON text: 4 MiB. A limit of the reference
/// service.
pub const ANSWERS_MAX: usize = 4 << 20;
/// Bytes of submissions after which a page ends before its `limit`: 16 MiB. A page has at least one
/// submission, whatever its size. A limit of the reference service.
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Largest request body of a public form, in bytes: 256 KiB. A limit of the reference service.
pub const FORM_BODY_MAX: usize = 256 << 10;
/// Retries of a failed webhook delivery after its first attempt.
pub const DELIVERY_RETRIES: u32 = 3;
/// Time limit of a delivery attempt.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest difference between the current time and a signature's `t`, in either direction.
pub const SIGNATURE_TOLERANCE: Duration = Duration::from_secs(300);
/// Largest number of `v1` values in a signature header; a header with more is malformed.
pub const SIGNATURES_MAX: usize = 8;
