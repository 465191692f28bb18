//! The forward pass over one unit of texts.

use std::ops::Range;

use super::packed::{self, Layer, Linear};
use super::{BatchHooks, Dtype, Encoder, SECOND_TEXT, TokenRows, unit};
use crate::pooling::Pooling;
use bulkhead_kernels::panels::{BytesMut, ROW_PAD, RowsI8, pad_inner};
use bulkhead_kernels::{AttentionScratch, Finish, Heads, Norm};

/// Tokens whose queries, keys and values are held at a time (or one longer text).
const ATTENTION_TOKENS: usize = 128;
/// Tokens whose feed-forward activations are held at a time.
const FEED_TOKENS: usize = 128;

/// Room for the activations of one forward pass; grows to the largest unit seen. One for each thread.
#[derive(Default)]
pub struct Scratch {
    /// Token vectors `[tokens][hidden]`.
    pub(super) hidden: Vec<f32>,
    /// The same, normalised, where an encoder normalises first; else empty.
    pub(super) normed: Vec<f32>,
    /// What the next product reads, as bytes, for int8.
    pub(super) bytes: Quantised,
    pub(super) block: Block,
}

/// The activations of one block of tokens inside a layer.
#[derive(Default)]
pub(super) struct Block {
    /// `[tokens][3][heads][head]`.
    pub(super) qkv: Vec<f32>,
    /// `[tokens][heads][head]`.
    pub(super) context: Vec<f32>,
    /// `[tokens][part of inner]`.
    pub(super) feed: Vec<f32>,
    /// What gated activations are multiplied by, of the same shape.
    pub(super) gate: Vec<f32>,
    /// Context or feed-forward activations.
    pub(super) bytes: Quantised,
    pub(super) attention: AttentionScratch,
}

/// Rows of activations as bytes.
#[derive(Default)]
pub(super) struct Quantised {
    bytes: Vec<u8>,
    scale: Vec<f32>,
    zero: Vec<f32>,
}

impl Quantised {
    /// Returns rows `rows`, to be written, at a stride of `inner`.
    fn rows_mut(&mut self, rows: Range<usize>, inner: usize) -> BytesMut<'_> {
        // A product reads whole tiles of rows, so there are some beyond the last.
        let bytes = room(&mut self.bytes, (rows.end + ROW_PAD) * inner);
        BytesMut {
            bytes: bytes.get_mut(rows.start * inner..).unwrap_or_default(),
            stride: inner,
            scale: room(&mut self.scale, rows.end).get_mut(rows.clone()).unwrap_or_default(),
            zero: room(&mut self.zero, rows.end).get_mut(rows).unwrap_or_default(),
        }
    }

    /// Returns rows that were written.
    fn rows(&self, rows: Range<usize>, inner: usize) -> RowsI8<'_> {
        RowsI8 {
            bytes: self.bytes.get(rows.start * inner..).unwrap_or_default(),
            stride: inner,
            scale: self.scale.get(rows.clone()).unwrap_or_default(),
            zero: self.zero.get(rows).unwrap_or_default(),
        }
    }
}

/// Rows that a product takes: `floats` for f32, `bytes` from row `start` on for int8.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) floats: &'a [f32],
    pub(super) bytes: &'a Quantised,
    pub(super) start: usize,
    pub(super) tokens: usize,
}

/// Where a product goes, at a stride, and how.
pub(super) struct Out<'a> {
    pub(super) rows: &'a mut [f32],
    pub(super) stride: usize,
    pub(super) finish: Finish,
}

impl Scratch {
    /// Creates empty scratch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Returns the first `length` elements, after growing; old contents stay, as every use overwrites what it reads.
pub(super) fn room<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
    buffer.get_mut(..length).unwrap_or_default()
}

impl Encoder {
    /// Computes the vectors of checked texts.
    pub(super) fn forward(
        &self,
        ids: &[u32],
        offsets: &[usize],
        pooling: Pooling,
        scratch: &mut Scratch,
        out: &mut [f32],
        hooks: &mut dyn BatchHooks,
    ) {
        let layout = self.packed.layout();
        let width = layout.hidden;
        let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
        let tokens = last - first;
        let Scratch { hidden, normed, bytes, block } = scratch;
        let hidden = room(hidden, tokens * width);
        let normed = room(normed, if self.config.norm_first { tokens * width } else { 0 });
        let mut rest = &mut *hidden;
        for (from, to) in offsets.iter().zip(offsets.iter().skip(1)) {
            let (rows, later) = rest.split_at_mut((to - from) * width);
            self.look_up(ids.get(*from..*to).unwrap_or_default(), 0, rows);
            rest = later;
        }
        self.norm(hidden, 0, &layout.norm, bytes);
        self.keep(hidden, normed);
        for layer in &layout.layers {
            let mut rest = offsets;
            while rest.len() > 1 {
                let texts = unit(rest, ATTENTION_TOKENS);
                let bounds = rest.get(..=texts).unwrap_or_default();
                self.attention(layer, first, bounds, (&mut *hidden, &mut *normed), bytes, block);
                rest = rest.get(texts..).unwrap_or_default();
                hooks.pause();
            }
            self.feed(layer, hidden, normed, bytes, block);
            hooks.pause();
        }
        let hidden = self.input(hidden, normed);
        let texts = offsets.iter().zip(offsets.iter().skip(1)).zip(out.chunks_exact_mut(self.dims()));
        for (text, ((from, to), out)) in texts.enumerate() {
            let rows = hidden.get((from - first) * width..(to - first) * width).unwrap_or_default();
            pooling.pool(rows, width, out);
            hooks.see(text, TokenRows { rows, stride: width });
        }
    }

    /// Adds the word, position and type vectors of a text's tokens from number `first` on.
    pub(super) fn look_up(&self, ids: &[u32], first: usize, rows: &mut [f32]) {
        let layout = self.packed.layout();
        let width = layout.hidden;
        let positions = self.packed.f32s(layout.positions);
        // Where positions are rotary, one row is for all.
        let shared = self.config.rotary.is_some().then_some(positions);
        let mut positions = positions.chunks_exact(width).skip(self.config.first_position + first);
        let second = self.packed.f32s(layout.second);
        for (id, row) in ids.iter().zip(rows.chunks_exact_mut(width)) {
            let position = shared.or_else(|| positions.next()).unwrap_or_default();
            let word = (*id & !SECOND_TEXT) as usize;
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
            if *id & SECOND_TEXT != 0 {
                row.iter_mut().zip(second).for_each(|(x, step)| *x += step);
            }
        }
    }

    /// Returns what products read: token vectors, or the same normalised where an encoder normalises first.
    pub(super) fn input<'r>(&self, hidden: &'r [f32], normed: &'r [f32]) -> &'r [f32] {
        if self.config.norm_first { normed } else { hidden }
    }

    /// Copies token vectors for the products of an encoder that normalises first.
    pub(super) fn keep(&self, hidden: &[f32], normed: &mut [f32]) {
        if self.config.norm_first {
            normed.copy_from_slice(hidden);
        }
    }

    /// Normalises token vectors, or their copy in an encoder that normalises first.
    pub(super) fn renorm(
        &self,
        hidden: &mut [f32],
        normed: &mut [f32],
        start: usize,
        norm: &packed::Norm,
        bytes: &mut Quantised,
    ) {
        self.keep(hidden, normed);
        let rows = if self.config.norm_first { normed } else { hidden };
        self.norm(rows, start, norm, bytes);
    }

    /// Computes `rows = norm(rows + project(attention(rows)))` for whole texts; `first` is the offset of row 0. An encoder
    /// that normalises first attends to the copy, adds to the rows, and normalises a new copy.
    fn attention(
        &self,
        layer: &Layer,
        first: usize,
        offsets: &[usize],
        (hidden, normed): (&mut [f32], &mut [f32]),
        bytes: &mut Quantised,
        block: &mut Block,
    ) {
        let layout = self.packed.layout();
        let start = offsets.first().map_or(0, |start| start - first);
        let end = offsets.last().map_or(0, |end| end - first);
        let tokens = end - start;
        let span = start * layout.hidden..end * layout.hidden;
        let rows = hidden.get_mut(span.clone()).unwrap_or_default();
        let normed = normed.get_mut(span).unwrap_or_default();
        let width = self.config.heads * layout.head;
        let qkv = room(&mut block.qkv, tokens * 3 * width);
        self.project_in(layer, self.input(rows, normed), start, bytes, qkv);
        let context = room(&mut block.context, tokens * width);
        for (from, to) in offsets.iter().zip(offsets.iter().skip(1)) {
            let (from, to) = ((from - first - start) * width, (to - first - start) * width);
            let qkv = qkv.get(3 * from..3 * to).unwrap_or_default();
            let context = context.get_mut(from..to).unwrap_or_default();
            self.attend(layer, qkv, 0, 0..self.config.heads, &mut block.attention, context);
        }
        self.add_product(context, width, &layer.project, 0, &mut block.bytes, rows);
        self.renorm(rows, normed, start, &layer.attention_norm, bytes);
    }

    pub(super) fn heads(&self) -> Heads {
        let dim = self.packed.layout().head;
        Heads { heads: self.config.heads, dim, int8: self.dtype == Dtype::Int8 }
    }

    /// Computes queries, keys and values `[tokens][3][heads][head]` of rows whose bytes begin at row `start`.
    pub(super) fn project_in(
        &self,
        layer: &Layer,
        rows: &[f32],
        start: usize,
        bytes: &Quantised,
        qkv: &mut [f32],
    ) {
        let (tokens, n) = (rows.len() / self.packed.layout().hidden, layer.qkv.n);
        let input = Input { floats: rows, bytes, start, tokens };
        self.product(input, &layer.qkv, 0..n, 0, Out { rows: qkv, stride: n, finish: Finish::Store });
    }

    /// Computes `rows = norm(rows + down(activation(up(rows))))`, with the activations times those of the gate where there
    /// is one.
    pub(super) fn feed(
        &self,
        layer: &Layer,
        hidden: &mut [f32],
        normed: &mut [f32],
        bytes: &mut Quantised,
        block: &mut Block,
    ) {
        let layout = self.packed.layout();
        let finish = Finish::Activate(self.config.activation);
        // Int8 reads its input from the bytes and f32 has one part, so that rows may change part by part.
        for part in 0..layer.down.parts() {
            let channels = layer.down.inner(part, layout.inner);
            let width = channels.len();
            for (index, rows) in hidden.chunks_mut(FEED_TOKENS * layout.hidden).enumerate() {
                let tokens = rows.len() / layout.hidden;
                let feed = room(&mut block.feed, tokens * width);
                let start = index * FEED_TOKENS;
                let first = start * layout.hidden;
                let normed = normed.get(first..first + rows.len()).unwrap_or_default();
                let input = Input { floats: self.input(rows, normed), bytes, start, tokens };
                let out = Out { rows: &mut *feed, stride: width, finish };
                self.product(input, &layer.up, channels.clone(), 0, out);
                if self.config.gated {
                    let gate = room(&mut block.gate, tokens * width);
                    let channels = layout.inner + channels.start..layout.inner + channels.end;
                    let out = Out { rows: &mut *gate, stride: width, finish: Finish::Store };
                    self.product(input, &layer.up, channels, 0, out);
                    feed.iter_mut().zip(&*gate).for_each(|(activated, gate)| *activated *= gate);
                }
                self.add_product(feed, width, &layer.down, part, &mut block.bytes, rows);
            }
        }
        self.renorm(hidden, normed, 0, &layer.output_norm, bytes);
    }

    /// Computes `rows += linear(x)` over one part of the inner dimension; `x` is `[tokens][width]`.
    pub(super) fn add_product(
        &self,
        x: &[f32],
        width: usize,
        linear: &Linear,
        part: usize,
        bytes: &mut Quantised,
        rows: &mut [f32],
    ) {
        self.quantise(x, width, linear, part, bytes);
        let input = Input { floats: x, bytes, start: 0, tokens: x.len() / width };
        let out = Out { rows, stride: linear.n, finish: Finish::Add };
        self.product(input, linear, 0..linear.n, part, out);
    }

    /// Computes some output channels (whole panels) of a linear layer over one part of its inner dimension.
    pub(super) fn product(
        &self,
        input: Input<'_>,
        linear: &Linear,
        channels: Range<usize>,
        part: usize,
        out: Out<'_>,
    ) {
        let Input { floats, bytes, start, tokens } = input;
        let Out { rows, stride, finish } = out;
        match self.dtype {
            Dtype::Float32 => {
                let panels = self.packed.panels_f32(linear, channels);
                self.operations.linear_f32(floats, tokens, &panels, rows, stride, finish);
            }
            Dtype::Int8 => {
                let panels = self.packed.panels_i8(linear, channels, part);
                let input = bytes.rows(start..start + tokens, panels.k);
                self.operations.linear_i8(&input, &panels, rows, stride, finish);
            }
        }
    }

    /// Quantises rows `[tokens][width]` for an int8 product over one part of the inner dimension.
    pub(super) fn quantise(
        &self,
        x: &[f32],
        width: usize,
        linear: &Linear,
        part: usize,
        bytes: &mut Quantised,
    ) {
        if self.dtype == Dtype::Int8 {
            let rows = bytes.rows_mut(0..x.len() / width, linear.padded(part));
            self.operations.quantise(x, width, rows);
        }
    }

    /// Normalises rows; for int8 also writes them to bytes, from row `start` on.
    pub(super) fn norm(&self, rows: &mut [f32], start: usize, norm: &packed::Norm, bytes: &mut Quantised) {
        let width = self.packed.layout().hidden;
        let norm = Norm {
            length: self.config.hidden,
            gamma: self.packed.f32s(norm.gamma),
            beta: self.packed.f32s(norm.beta),
            epsilon: self.config.epsilon,
        };
        let span = start..start + rows.len() / width;
        let bytes = match self.dtype {
            Dtype::Float32 => None,
            Dtype::Int8 => Some(bytes.rows_mut(span, pad_inner(width))),
        };
        self.operations.layer_norm(rows, width, &norm, bytes);
    }
}
