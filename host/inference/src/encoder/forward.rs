//! The forward pass over one unit of texts.

use super::{Dtype, Encoder, unit};
use crate::kernels::panels::{ROW_PAD, RowsI8};
use crate::kernels::{AttentionScratch, Finish, Heads, Operations};
use crate::packed::{Layer, Linear, Packed};
use crate::pooling::Pooling;

/// Tokens whose queries, keys and values are held at a time (or one longer text).
const ATTENTION_TOKENS: usize = 128;
/// Tokens whose feed-forward activations are held at a time.
const FEED_TOKENS: usize = 128;

/// Room for the activations of one forward pass; grows to the largest unit seen. One for each thread.
#[derive(Default)]
pub struct Scratch {
    /// Token vectors `[tokens][hidden]`.
    hidden: Vec<f32>,
    block: Block,
}

/// What one block of tokens needs inside a layer.
#[derive(Default)]
struct Block {
    /// `[tokens][3][heads][head]`.
    qkv: Vec<f32>,
    /// `[tokens][heads][head]`.
    context: Vec<f32>,
    /// `[tokens][inner]`.
    feed: Vec<f32>,
    quantised: Quantised,
    attention: AttentionScratch,
}

/// Rows of activations as bytes.
#[derive(Default)]
struct Quantised {
    bytes: Vec<u8>,
    scale: Vec<f32>,
    zero: Vec<f32>,
}

impl Scratch {
    /// Empty scratch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The first `length` elements, after growing; old contents stay, as every use overwrites what it reads.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
    buffer.get_mut(..length).unwrap_or_default()
}

impl Encoder {
    /// Vectors of checked texts.
    pub(super) fn forward(
        &self,
        ids: &[u32],
        offsets: &[usize],
        pooling: Pooling,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) {
        let layout = self.packed.layout();
        let width = layout.hidden;
        let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
        let hidden = room(&mut scratch.hidden, (last - first) * width);
        let norm = layout.norm;
        self.look_up(ids, offsets, hidden);
        self.norm(hidden, norm.gamma, norm.beta);
        for layer in &layout.layers {
            let mut rest = offsets;
            while rest.len() > 1 {
                let texts = unit(rest, ATTENTION_TOKENS);
                let block = rest.get(..=texts).unwrap_or_default();
                let start = block.first().copied().unwrap_or(0);
                let end = block.last().copied().unwrap_or(0);
                let rows = hidden.get_mut((start - first) * width..(end - first) * width).unwrap_or_default();
                self.attention(layer, rows, block, &mut scratch.block);
                rest = rest.get(texts..).unwrap_or_default();
            }
            for rows in hidden.chunks_mut(FEED_TOKENS * width) {
                self.feed(layer, rows, &mut scratch.block);
            }
        }
        for ((from, to), out) in
            offsets.iter().zip(offsets.iter().skip(1)).zip(out.chunks_exact_mut(self.dims()))
        {
            let rows = hidden.get((from - first) * width..(to - first) * width).unwrap_or_default();
            pooling.pool(rows, width, out);
        }
    }

    /// Word, position and type vectors, added.
    fn look_up(&self, ids: &[u32], offsets: &[usize], hidden: &mut [f32]) {
        let layout = self.packed.layout();
        let width = layout.hidden;
        let positions = self.packed.f32s(layout.positions);
        let mut rows = hidden.chunks_exact_mut(width);
        for (from, to) in offsets.iter().zip(offsets.iter().skip(1)) {
            let positions = positions.chunks_exact(width).skip(self.config.first_position);
            let ids = ids.get(*from..*to).unwrap_or_default();
            for ((id, position), row) in ids.iter().zip(positions).zip(&mut rows) {
                let word = *id as usize;
                let span = word * width..(word + 1) * width;
                match self.dtype {
                    Dtype::Float32 => {
                        let words = self.packed.f32s(layout.words).get(span).unwrap_or_default();
                        for ((x, word), position) in row.iter_mut().zip(words).zip(position) {
                            *x = word + position;
                        }
                    }
                    Dtype::Int8 => {
                        let words = self.packed.i8s(layout.words).get(span).unwrap_or_default();
                        let scale = self.packed.f32s(layout.word_scale).get(word).copied().unwrap_or(0.0);
                        for ((x, word), position) in row.iter_mut().zip(words).zip(position) {
                            *x = f32::from(*word) * scale + position;
                        }
                    }
                }
            }
        }
    }

    /// `rows = norm(rows + project(attention(rows)))` for whole texts.
    fn attention(&self, layer: &Layer, rows: &mut [f32], offsets: &[usize], block: &mut Block) {
        let layout = self.packed.layout();
        let tokens = rows.len() / layout.hidden;
        let width = self.config.heads * layout.head;
        let qkv = room(&mut block.qkv, tokens * 3 * width);
        let context = room(&mut block.context, tokens * width);
        self.linear(rows, &layer.qkv, &mut block.quantised, qkv, Finish::Store);
        let heads = Heads { heads: self.config.heads, dim: layout.head, int8: self.dtype == Dtype::Int8 };
        let first = offsets.first().copied().unwrap_or(0);
        for (from, to) in offsets.iter().zip(offsets.iter().skip(1)) {
            let (from, to) = ((from - first) * width, (to - first) * width);
            let qkv = qkv.get(3 * from..3 * to).unwrap_or_default();
            let context = context.get_mut(from..to).unwrap_or_default();
            self.operations.attention(qkv, heads, &mut block.attention, context);
        }
        self.linear(context, &layer.project, &mut block.quantised, rows, Finish::Add);
        self.norm(rows, layer.attention_norm.gamma, layer.attention_norm.beta);
    }

    /// `rows = norm(rows + down(activation(up(rows))))`.
    fn feed(&self, layer: &Layer, rows: &mut [f32], block: &mut Block) {
        let layout = self.packed.layout();
        let feed = room(&mut block.feed, rows.len() / layout.hidden * layout.inner);
        let finish = Finish::Activate(self.config.activation);
        self.linear(rows, &layer.up, &mut block.quantised, feed, finish);
        self.linear(feed, &layer.down, &mut block.quantised, rows, Finish::Add);
        self.norm(rows, layer.output_norm.gamma, layer.output_norm.beta);
    }

    /// One linear layer over whole rows.
    fn linear(
        &self,
        rows: &[f32],
        linear: &Linear,
        quantised: &mut Quantised,
        out: &mut [f32],
        finish: Finish,
    ) {
        let tokens = out.len() / linear.n;
        match self.dtype {
            Dtype::Float32 => {
                let panels = self.packed.panels_f32(linear);
                self.operations.linear_f32(rows, tokens, &panels, out, linear.n, finish);
            }
            Dtype::Int8 => {
                let panels = self.packed.panels_i8(linear);
                let bytes = room(&mut quantised.bytes, tokens.next_multiple_of(ROW_PAD) * linear.k);
                let scale = room(&mut quantised.scale, tokens);
                let zero = room(&mut quantised.zero, tokens);
                self.operations.quantise(rows, rows.len() / tokens, bytes, linear.k, scale, zero);
                let rows = RowsI8 { bytes, stride: linear.k, scale, zero };
                self.operations.linear_i8(&rows, &panels, out, linear.n, finish);
            }
        }
    }

    fn norm(&self, rows: &mut [f32], gamma: crate::packed::Section, beta: crate::packed::Section) {
        let (packed, operations): (&Packed, &Operations) = (&self.packed, self.operations);
        let width = packed.layout().hidden;
        let (gamma, beta) = (packed.f32s(gamma), packed.f32s(beta));
        operations.layer_norm(rows, width, self.config.hidden, gamma, beta, self.config.epsilon);
    }
}
