//! What a worker knows: the board, what is at hand, and the attempts that are over.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::at_hand::AtHand;
use super::errand::Over;
use super::guard::Guard;
use super::running::Equipment;
use super::select::Board;
use crate::store::WorkSignal;
use crate::supervise::Backoff;

/// What a worker knows. It outlasts a worker that panics, so that the attempts it began keep their
/// slots.
pub(super) struct Desk {
    pub(super) work: Arc<WorkSignal>,
    pub(super) board: Board,
    pub(super) at_hand: AtHand,
    /// Bytes of answers at hand and on their way.
    pub(super) bytes: usize,
    pub(super) guard: Guard,
    pub(super) over: mpsc::UnboundedReceiver<Over>,
    pub(super) tell_over: mpsc::UnboundedSender<Over>,
    pub(super) look_again: Instant,
    pub(super) count_again: Instant,
    pub(super) backoff: Backoff,
}

impl Desk {
    pub(super) fn new(equipment: &Equipment) -> Self {
        let (tell_over, over) = mpsc::unbounded_channel();
        Self {
            work: equipment.store.work(),
            board: Board::new(
                equipment.options.slots,
                equipment.store.endpoints_at_once().is_some(),
            ),
            at_hand: AtHand::default(),
            bytes: 0,
            guard: Guard::new(equipment.vault.clone()),
            over,
            tell_over,
            look_again: Instant::now(),
            count_again: Instant::now(),
            backoff: Backoff::default(),
        }
    }

    /// Takes in what happened meanwhile.
    pub(super) fn hear(&mut self) {
        while let Ok(over) = self.over.try_recv() {
            self.note(&over);
        }
        self.board.announce(&self.work.take(), Instant::now());
    }

    pub(super) fn note(&mut self, over: &Over) {
        self.board.end(over.endpoint, over.is_late, over.reached, over.took);
        self.bytes = self.bytes.saturating_sub(over.bytes);
        if let Some(again) = over.again {
            self.board.put_off(over.endpoint, Instant::now() + again);
        }
    }
}
