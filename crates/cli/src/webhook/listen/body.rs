//! The body of a request: all of it, within a cap, until it is to give way.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::Notify;

/// How much more than the cap is read and thrown away, so that a sender that reads no answer before it
/// has sent all finds one: a connection that is closed under it tells it nothing.
const THROWN_AWAY: u64 = 8;

/// Pieces that a body may come in, however short it is.
const PIECES: u64 = 4_096;
/// Bytes that each further piece has on average. Pieces of one byte cost far more to read than they carry.
const PIECE_MEAN: u64 = 64;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    /// It came in too many pieces.
    Scattered,
    /// The connection ended, or what came is no body of HTTP.
    Broken,
}

/// Reads a body to its end, unless it is to give way before that: nothing else bounds the time it takes.
pub(super) async fn read(body: Incoming, cap: usize, gives_way: &Notify) -> Result<Bytes, Unread> {
    tokio::select! {
        biased;
        read = read_all(body, cap) => read,
        () = gives_way.notified() => Err(Unread::TooSlow),
    }
}

async fn read_all(mut body: Incoming, cap: usize) -> Result<Bytes, Unread> {
    let most = THROWN_AWAY * cap as u64;
    let announced = body.size_hint().exact();
    if announced.is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    let (mut first, mut whole) = (Bytes::new(), BytesMut::new());
    let (mut read, mut pieces) = (0_u64, 0_u64);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        read += data.len() as u64;
        pieces += 1;
        if pieces > PIECES + read / PIECE_MEAN {
            return Err(Unread::Scattered);
        }
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
