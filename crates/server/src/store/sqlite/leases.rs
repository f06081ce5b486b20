//! Leases, in SQL: a row for each claim, with the deliveries that are still under it.
//!
//! What is claimed together ends within moments of each other. A row for each delivery would be
//! written and deleted once for every one of them; the row of a claim is written once for many, and
//! again when some of them end.

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::instant;
use crate::store::{DeliveryKey, EndpointNo, Lease, StoreError};

/// The deliveries under a lease.
const HELD: &str =
    "SELECT held FROM leases WHERE endpoint_no = ?1 AND until_us = ?2 AND token = ?3";
/// The next endpoint with deliveries under leases.
pub(super) const NEXT_ENDPOINT: &str =
    "SELECT endpoint_no FROM leases WHERE endpoint_no > ?1 ORDER BY endpoint_no LIMIT 1";
/// When the first lease of an endpoint ends.
pub(super) const FRONT: &str =
    "SELECT until_us FROM leases WHERE endpoint_no = ?1 ORDER BY until_us LIMIT 1";

/// A delivery under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) submission: i64,
    pub(super) retries: u32,
    pub(super) claims: u32,
    pub(super) resend: bool,
    /// Whether it was attempted before it was claimed.
    pub(super) attempted: bool,
}

/// Bytes of one, packed.
pub(super) const HELD_LEN: usize = 17;
const RESEND: u8 = 1;
const ATTEMPTED: u8 = 2;

impl Held {
    fn pack(self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.submission.to_be_bytes());
        into.extend_from_slice(&self.retries.to_be_bytes());
        into.extend_from_slice(&self.claims.to_be_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        into.push(flag(self.resend, RESEND) | flag(self.attempted, ATTEMPTED));
    }

    fn unpack(bytes: &[u8; HELD_LEN]) -> Self {
        let (submission, rest) = bytes.split_first_chunk().expect("8 of 17 bytes");
        let (retries, rest) = rest.split_first_chunk().expect("4 of 9 bytes");
        let (claims, flags) = rest.split_first_chunk().expect("4 of 5 bytes");
        Self {
            submission: i64::from_be_bytes(*submission),
            retries: u32::from_be_bytes(*retries),
            claims: u32::from_be_bytes(*claims),
            resend: flags[0] & RESEND != 0,
            attempted: flags[0] & ATTEMPTED != 0,
        }
    }
}

/// Deliveries in the order of their submissions, packed.
fn pack(held: &[Held]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(held.len() * HELD_LEN);
    for held in held {
        held.pack(&mut packed);
    }
    packed
}

fn unpack(packed: &[u8]) -> Vec<Held> {
    let (all, _) = packed.as_chunks();
    all.iter().map(Held::unpack).collect()
}

fn unpack_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<Held>> {
    Ok(unpack(row.get_ref(column)?.as_blob()?))
}

/// Puts deliveries under a lease, besides those that are under it already.
pub(super) fn hold(
    db: &Connection,
    endpoint: EndpointNo,
    lease: Lease,
    mut held: Vec<Held>,
) -> Result<(), StoreError> {
    let place = params![endpoint.0, lease.until.micros(), lease.token];
    let known =
        db.prepare_cached(HELD)?.query_row(place, |row| unpack_column(row, 0)).optional()?;
    let is_new = known.is_none();
    held.extend(known.into_iter().flatten());
    held.sort_unstable();
    write(db, endpoint, lease, &held, is_new)
}

fn write(
    db: &Connection,
    endpoint: EndpointNo,
    lease: Lease,
    held: &[Held],
    is_new: bool,
) -> Result<(), StoreError> {
    let (until, token) = (lease.until.micros(), lease.token);
    if held.is_empty() {
        db.prepare_cached(
            "DELETE FROM leases WHERE endpoint_no = ?1 AND until_us = ?2 AND token = ?3",
        )?
        .execute(params![endpoint.0, until, token])?;
        return Ok(());
    }
    let sql = if is_new {
        "INSERT INTO leases (endpoint_no, until_us, token, held) VALUES (?1, ?2, ?3, ?4)"
    } else {
        "UPDATE leases SET held = ?4 WHERE endpoint_no = ?1 AND until_us = ?2 AND token = ?3"
    };
    db.prepare_cached(sql)?.execute(params![endpoint.0, until, token, pack(held)])?;
    Ok(())
}

/// A lease as it stands in the transaction under way.
struct Open {
    endpoint: EndpointNo,
    lease: Lease,
    held: Vec<Held>,
    changed: bool,
}

/// Leases that are read once and written once, however many of their deliveries end in between.
pub(super) struct Leases<'db> {
    db: &'db Connection,
    open: Vec<Open>,
}

impl<'db> Leases<'db> {
    pub(super) fn new(db: &'db Connection) -> Self {
        Self { db, open: Vec::new() }
    }

    /// Takes a delivery from under a lease; none when that does not hold it any more.
    pub(super) fn take(
        &mut self,
        key: DeliveryKey,
        lease: Lease,
    ) -> Result<Option<Held>, StoreError> {
        let open = self.lease(key.endpoint, lease)?;
        let found = open.held.binary_search_by_key(&key.submission, |held| held.submission);
        let Ok(at) = found else { return Ok(None) };
        open.changed = true;
        Ok(Some(open.held.remove(at)))
    }

    fn lease(&mut self, endpoint: EndpointNo, lease: Lease) -> Result<&mut Open, StoreError> {
        let known =
            self.open.iter().rposition(|open| (open.endpoint, open.lease) == (endpoint, lease));
        let at = if let Some(at) = known {
            at
        } else {
            let held = self
                .db
                .prepare_cached(HELD)?
                .query_row(params![endpoint.0, lease.until.micros(), lease.token], |row| {
                    unpack_column(row, 0)
                })
                .optional()?
                .unwrap_or_default();
            self.open.push(Open { endpoint, lease, held, changed: false });
            self.open.len() - 1
        };
        Ok(&mut self.open[at])
    }

    /// Writes what has changed.
    pub(super) fn save(self) -> Result<(), StoreError> {
        for Open { endpoint, lease, held, changed } in self.open {
            if changed {
                write(self.db, endpoint, lease, &held, false)?;
            }
        }
        Ok(())
    }
}

/// The leases of an endpoint, those that end first in front, up to an end.
pub(super) fn of(
    db: &Connection,
    endpoint: EndpointNo,
    until: FormInstant,
) -> Result<Vec<(Lease, Vec<Held>)>, StoreError> {
    let mut found = db.prepare_cached(
        "SELECT until_us, token, held FROM leases WHERE endpoint_no = ?1 AND until_us <= ?2
         ORDER BY until_us, token",
    )?;
    let rows = found.query_map(params![endpoint.0, until.micros()], |row| {
        let lease = Lease { until: instant(row.get(0)?), token: row.get(1)? };
        Ok((lease, unpack_column(row, 2)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether a delivery is under a lease. There are a few thousand at most, and they are searched.
pub(super) fn holds(db: &Connection, key: DeliveryKey) -> Result<bool, StoreError> {
    let leases = of(db, key.endpoint, FormInstant::MAX)?;
    let mut held = leases.iter().flat_map(|(_, held)| held);
    Ok(held.any(|held| held.submission == key.submission))
}

/// All leases there are, and none from here on: those who hold them are gone.
pub(super) fn take_all(db: &Connection) -> Result<Vec<(EndpointNo, Vec<Held>)>, StoreError> {
    let mut found = db.prepare("SELECT endpoint_no, held FROM leases")?;
    let rows = found.query_map([], |row| Ok((EndpointNo(row.get(0)?), unpack_column(row, 1)?)))?;
    let all = rows.collect::<Result<_, _>>()?;
    db.execute("DELETE FROM leases", [])?;
    Ok(all)
}

/// Ends the leases of an endpoint, and says what was under them.
pub(super) fn end(db: &Connection, endpoint: EndpointNo) -> Result<Vec<Held>, StoreError> {
    let leases = of(db, endpoint, FormInstant::MAX)?;
    db.prepare_cached("DELETE FROM leases WHERE endpoint_no = ?1")?.execute([endpoint.0])?;
    Ok(leases.into_iter().flat_map(|(_, held)| held).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let one = |submission, retries, claims, resend, attempted| Held {
            submission,
            retries,
            claims,
            resend,
            attempted,
        };
        let held = [
            one(i64::MIN, 0, 0, false, false),
            one((3 << 40) + 7, 3, 5, true, false),
            one(i64::MAX, u32::MAX, u32::MAX, true, true),
        ];
        assert_eq!(unpack(&pack(&held)), held);
        assert_eq!(pack(&held).len(), 3 * HELD_LEN);
        assert_eq!(unpack(&[]), []);
    }
}
