//! The body of a request: all of it, within a cap and a time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

/// How much more than the cap is read and thrown away, so that a sender that reads no answer before it
/// has sent all finds one: a connection that is closed under it tells it nothing.
const THROWN_AWAY: u64 = 8;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    /// The connection ended, or what came is no body of HTTP.
    Broken,
}

/// Reads a body to its end.
pub(super) async fn read(body: Incoming, cap: usize, time: Duration) -> Result<Bytes, Unread> {
    tokio::time::timeout(time, read_all(body, cap)).await.unwrap_or(Err(Unread::TooSlow))
}

async fn read_all(mut body: Incoming, cap: usize) -> Result<Bytes, Unread> {
    let most = THROWN_AWAY * cap as u64;
    let announced = body.size_hint().exact();
    if announced.is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    let (mut first, mut whole, mut read) = (Bytes::new(), BytesMut::new(), 0_u64);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        read += data.len() as u64;
        if read > most {
            break;
        }
        if read > cap as u64 {
            (first, whole) = Default::default();
        } else if first.is_empty() && whole.is_empty() {
            // The usual body is one piece, which is then not copied.
            first = data;
        } else {
            if whole.is_empty() {
                whole.reserve(usize::try_from(announced.unwrap_or_default()).unwrap_or(0).min(cap));
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&data);
        }
    }
    if read > cap as u64 {
        return Err(Unread::TooLarge);
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}
