//! One long text over several threads.
//!
//! The text's rows are cut into blocks. A ticket is one block in one phase; whoever takes part draws the next
//! ticket, waits until the phase before is done, and works. A phase is one layer: attention needs the keys and
//! values of all blocks, all else only the block's own rows; the next layer's queries, keys and values go to a
//! second buffer, so that one wait a layer is enough. Tickets are drawn in order, so whatever one waits for is
//! being worked on, and one thread alone gets through as well. No vector changes by a bit.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::forward::{Quantised, Scratch, room};
use super::{Encoder, Pooling};
use crate::error::EmbedError;

/// Rows of a block are a multiple of a hardware tile's.
const ROWS: usize = 16;
/// Looks at the phase before until the thread yields its processor.
const LOOKS: usize = 2_000;

/// The work on one text.
pub(crate) struct Team {
    encoder: Arc<Encoder>,
    ids: Vec<u32>,
    pooling: Pooling,
    /// Tokens of each block but the last.
    height: usize,
    blocks: Vec<Mutex<Block>>,
    /// Queries, keys and values of each block, for layers of even and of odd number.
    qkv: [Vec<RwLock<Vec<f32>>>; 2],
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
}

#[derive(Default)]
struct Block {
    /// `[tokens of the block][hidden]`.
    hidden: Vec<f32>,
    bytes: Quantised,
}

/// Tells the others when its thread panics, for they would wait for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Team {
    /// Work on one text for up to `threads` threads.
    ///
    /// # Errors
    ///
    /// When the text cannot be embedded.
    pub(crate) fn new(
        encoder: &Arc<Encoder>,
        ids: Vec<u32>,
        pooling: Pooling,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        encoder.check(&ids, &[0, ids.len()], encoder.dims())?;
        let height = ids.len().div_ceil(threads.max(1)).next_multiple_of(ROWS);
        let count = ids.len().div_ceil(height);
        let buffers = || (0..count).map(|_| RwLock::default()).collect();
        Ok(Self {
            encoder: Arc::clone(encoder),
            ids,
            pooling,
            height,
            blocks: (0..count).map(|_| Mutex::default()).collect(),
            qkv: [buffers(), buffers()],
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        })
    }

    /// Takes part until no ticket is left.
    pub(crate) fn help(&self, scratch: &mut Scratch) {
        let _alarm = Alarm(&self.failed);
        let (count, total) = (self.blocks.len(), self.tickets());
        loop {
            let ticket = self.next.fetch_add(1, Ordering::Relaxed);
            let phase = ticket / count;
            if ticket >= total || !self.wait(phase * count) {
                return;
            }
            self.work(phase, ticket % count, scratch);
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Takes part, and returns the text's vector, not normalised.
    ///
    /// # Errors
    ///
    /// When another thread panicked, or the vector is not finite.
    pub(crate) fn lead(&self, scratch: &mut Scratch) -> Result<Vec<f32>, EmbedError> {
        self.help(scratch);
        if !self.wait(self.tickets()) {
            return Err(EmbedError::Panicked("another thread of this text panicked".to_owned()));
        }
        let width = self.encoder.packed.layout().hidden;
        let mut rows = Vec::with_capacity(self.ids.len() * width);
        for block in &self.blocks {
            rows.extend_from_slice(&block.lock().unwrap_or_else(PoisonError::into_inner).hidden);
        }
        let mut out = vec![0.0; self.encoder.dims()];
        self.pooling.pool(&rows, width, &mut out);
        if out.iter().all(|x| x.is_finite()) { Ok(out) } else { Err(EmbedError::NotFinite { text: 0 }) }
    }

    fn tickets(&self) -> usize {
        (self.encoder.packed.layout().layers.len() + 1) * self.blocks.len()
    }

    /// Waits until so many tickets are done; false if that will never be.
    fn wait(&self, tickets: usize) -> bool {
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < tickets {
            if self.failed.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks % LOOKS == 0 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        true
    }

    /// Phase 0: the block's input, and what the first layer attends to. Phase p: layer p, counted from one, and
    /// what the layer after attends to.
    fn work(&self, phase: usize, index: usize, scratch: &mut Scratch) {
        let (Some(block), encoder) = (self.blocks.get(index), self.encoder.as_ref()) else { return };
        let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
        let Block { hidden, bytes } = &mut *block;
        let layout = encoder.packed.layout();
        let start = index * self.height;
        let end = self.ids.len().min(start + self.height);
        if phase == 0 {
            let rows = room(hidden, (end - start) * layout.hidden);
            encoder.look_up(self.ids.get(start..end).unwrap_or_default(), start, rows);
            encoder.norm(rows, 0, &layout.norm, bytes);
        } else if let Some(layer) = layout.layers.get(phase - 1) {
            let width = encoder.config.heads * layout.head;
            let scratch = &mut scratch.block;
            let qkv = room(&mut scratch.qkv, self.ids.len() * 3 * width);
            let [even, odd] = &self.qkv;
            let parts = if phase % 2 == 1 { even } else { odd };
            for (part, to) in parts.iter().zip(qkv.chunks_mut(self.height * 3 * width)) {
                to.copy_from_slice(&part.read().unwrap_or_else(PoisonError::into_inner));
            }
            let context = room(&mut scratch.context, (end - start) * width);
            encoder.operations.attention(qkv, start, encoder.heads(), &mut scratch.attention, context);
            encoder.add_product(context, width, &layer.project, 0, &mut scratch.bytes, hidden);
            encoder.norm(hidden, 0, &layer.attention_norm, bytes);
            encoder.feed(layer, hidden, bytes, scratch);
        }
        if let Some(layer) = layout.layers.get(phase) {
            let [even, odd] = &self.qkv;
            let parts = if phase.is_multiple_of(2) { even } else { odd };
            if let Some(part) = parts.get(index) {
                let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
                let qkv = room(&mut part, (end - start) * layer.qkv.n);
                encoder.project_in(layer, hidden, 0, bytes, qkv);
            }
        }
    }
}
