//! The limits of SPEC §8, and this service's own where the specification is silent, in one place.

use std::time::Duration;

/// Requests one API key may make in any [`RATE_WINDOW`].
pub const RATE_LIMIT: u32 = 300;
/// The rolling window of [`RATE_LIMIT`].
pub const RATE_WINDOW: Duration = Duration::from_secs(60);
/// Forms that `GET /api/v1/forms` lists at most.
pub const FORMS_LISTED_MAX: usize = 200;
/// `limit` of the submissions list when the request names none.
pub const PAGE_SIZE_DEFAULT: u32 = 25;
/// Largest `limit` of the submissions list.
pub const PAGE_SIZE_MAX: u32 = 100;
/// Longest answers of a submission, in bytes of their JSON text: 4 MiB. This service's own; the
/// specification names no limit.
pub const ANSWERS_MAX: usize = 4 << 20;
/// Bytes of submissions after which a page ends early, before its `limit`: 16 MiB. A page that is not
/// empty has one submission at least, whatever its size. This service's own; the specification names
/// no limit.
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Longest body that is taken at the address of a public form, in bytes: 256 KiB. This service's own;
/// the specification names no limit.
pub const FORM_BODY_MAX: usize = 256 << 10;
/// Retries of a failed webhook delivery, after its first attempt.
pub const DELIVERY_RETRIES: u32 = 3;
/// Time an endpoint has to answer a delivery.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest difference between now and a signature's `t`, in either direction.
pub const SIGNATURE_TOLERANCE: Duration = Duration::from_secs(300);
/// `v1` values read from one signature header; more are malformed.
pub const SIGNATURES_MAX: usize = 8;
