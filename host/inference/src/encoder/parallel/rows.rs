//! The split by rows: each share is a block of the text's tokens in all layers.
//!
//! A phase is one layer: attention needs the keys and values of all blocks, all else only the block's own rows; the
//! next layer's queries, keys and values go to a second buffer, so that one wait a layer is enough.

use super::{Shared, Text};
use crate::encoder::forward::{Quantised, Scratch, room};

/// Rows of a block are a multiple of a hardware tile's.
const ROWS: usize = 16;

pub(super) struct Rows {
    /// Tokens of each block but the last.
    height: usize,
    blocks: Vec<Shared<Block>>,
    /// Queries, keys and values of each block, for layers of even and of odd number.
    qkv: [Vec<Shared<Vec<f32>>>; 2],
}

#[derive(Default)]
struct Block {
    /// `[tokens of the block][hidden]`.
    hidden: Vec<f32>,
    /// The same, normalised, where the encoder normalises first; else empty.
    normed: Vec<f32>,
    bytes: Quantised,
}

impl Rows {
    pub(super) fn new(text: &Text, threads: usize) -> Self {
        let tokens = text.ids.len();
        let height = tokens.div_ceil(threads.max(1)).next_multiple_of(ROWS);
        let count = tokens.div_ceil(height);
        Self { height, blocks: Shared::all(count), qkv: [Shared::all(count), Shared::all(count)] }
    }

    /// Returns the number of phases, and of shares of each.
    pub(super) fn size(&self, text: &Text) -> (usize, usize) {
        (text.encoder.packed.layout().layers.len() + 1, self.blocks.len())
    }

    /// Returns the token vectors at the end.
    pub(super) fn hidden(&self) -> Vec<f32> {
        let rows = |block: &Shared<Block>| {
            let block = block.read();
            if block.normed.is_empty() { block.hidden.clone() } else { block.normed.clone() }
        };
        self.blocks.iter().flat_map(rows).collect()
    }

    /// Computes phase 0, the block's input and what the first layer attends to, or phase p, layer p counted from one
    /// and what the layer after attends to.
    pub(super) fn work(&self, text: &Text, phase: usize, index: usize, scratch: &mut Scratch) {
        let (Some(block), encoder) = (self.blocks.get(index), text.encoder.as_ref()) else { return };
        let mut block = block.write();
        let Block { hidden, normed, bytes } = &mut *block;
        let layout = encoder.packed.layout();
        let start = index * self.height;
        let end = text.ids.len().min(start + self.height);
        let [even, odd] = &self.qkv;
        let (before, after) = if phase.is_multiple_of(2) { (odd, even) } else { (even, odd) };
        if phase == 0 {
            let rows = room(hidden, (end - start) * layout.hidden);
            encoder.look_up(text.ids.get(start..end).unwrap_or_default(), start, rows);
            encoder.norm(rows, 0, &layout.norm, bytes);
            encoder.keep(rows, room(normed, if encoder.config.norm_first { rows.len() } else { 0 }));
        } else if let Some(layer) = layout.layers.get(phase - 1) {
            let width = encoder.config.heads * layout.head;
            let scratch = &mut scratch.block;
            let qkv = room(&mut scratch.qkv, text.ids.len() * 3 * width);
            for (part, to) in before.iter().zip(qkv.chunks_mut(self.height * 3 * width)) {
                to.copy_from_slice(&part.read());
            }
            let context = room(&mut scratch.context, (end - start) * width);
            encoder.attend(layer, qkv, start, 0..encoder.config.heads, &mut scratch.attention, context);
            encoder.add_product(context, width, &layer.project, 0, &mut scratch.bytes, hidden);
            encoder.renorm(hidden, normed, 0, &layer.attention_norm, bytes);
            encoder.feed(layer, hidden, normed, bytes, scratch);
        }
        if let (Some(layer), Some(part)) = (layout.layers.get(phase), after.get(index)) {
            let mut part = part.write();
            let qkv = room(&mut part, (end - start) * layer.qkv.n);
            encoder.project_in(layer, encoder.input(hidden, normed), 0, bytes, qkv);
        }
    }
}
