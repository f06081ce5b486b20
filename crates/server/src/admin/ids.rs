//! New identifiers.

/// 128 bits for a new id: UUID version 7, so that ids made later sort later and an index grows at
/// its end. Ids of one process strictly increase.
pub(crate) fn new_id() -> [u8; 16] {
    uuid::Uuid::now_v7().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_strictly_increase() {
        let ids: Vec<_> = (0..10_000).map(|_| new_id()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }
}
