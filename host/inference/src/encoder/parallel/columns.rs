//! The split by columns: each share is some of the heads and of the output channels, so that each thread reads its
//! part of the weights only.
//!
//! A layer is four phases: attention, projection, and the two products of the feed-forward block. The steps between
//! them need whole rows and cost next to nothing, so each thread repeats them.

use std::ops::Range;

use super::{Shared, Text};
use crate::encoder::Dtype;
use crate::encoder::forward::{Input, Out, Quantised, Scratch, room};
use crate::encoder::packed::Layer;
use bulkhead_kernels::Finish;
use bulkhead_kernels::LANES;

/// Threads beyond these would wait more than work.
const MOST_THREADS: usize = 4;
/// Phases of a layer.
const PHASES: usize = 4;

pub(super) struct Columns {
    /// Heads of each share.
    heads: Vec<Range<usize>>,
    /// Channels of a token's vector of each share.
    hidden: Vec<Range<usize>>,
    /// Channels of the feed-forward block. Int8 has a scale for each part of them, so there these are the parts and
    /// shares take turns; for f32 there is one for each share.
    inner: Vec<Range<usize>>,
    /// `[tokens][heads of the share][head]`.
    context: Vec<Shared<Vec<f32>>>,
    feed: Vec<Shared<FeedForward>>,
    /// Token vectors not yet normalised, after an even and after an odd number of additions:
    /// `[tokens][channels of the share]`.
    sums: [Vec<Shared<Vec<f32>>>; 2],
}

/// Feed-forward activations `[tokens][channels]`.
#[derive(Default)]
struct FeedForward {
    floats: Vec<f32>,
    bytes: Quantised,
}

/// One thread of the work group.
pub(super) struct Worker<'s> {
    scratch: &'s mut Scratch,
    /// Number of additions that the token vectors in the scratch include.
    stage: Option<usize>,
}

impl<'s> Worker<'s> {
    pub(super) fn new(scratch: &'s mut Scratch) -> Self {
        Self { scratch, stage: None }
    }
}

/// Splits whole units of `width` channels into equal shares.
fn shares(units: usize, width: usize, shares: usize) -> Vec<Range<usize>> {
    (0..shares).map(|at| at * units / shares * width..(at + 1) * units / shares * width).collect()
}

impl Columns {
    pub(super) fn new(text: &Text, threads: usize) -> Self {
        let (layout, config) = (text.encoder.packed.layout(), &text.encoder.config);
        let count = threads.clamp(1, MOST_THREADS);
        let inner = match (text.encoder.dtype, layout.layers.first()) {
            (Dtype::Int8, Some(layer)) => {
                (0..layer.down.parts()).map(|part| layer.down.inner(part, layout.inner)).collect()
            }
            _ => shares(layout.inner / LANES, LANES, count),
        };
        Self {
            heads: shares(config.heads, 1, count),
            hidden: shares(layout.hidden / LANES, LANES, count),
            feed: Shared::all(inner.len()),
            inner,
            context: Shared::all(count),
            sums: [Shared::all(count), Shared::all(count)],
        }
    }

    /// Returns the number of phases, and of shares of each.
    pub(super) fn size(&self, text: &Text) -> (usize, usize) {
        (PHASES * text.encoder.packed.layout().layers.len(), self.heads.len())
    }

    /// Returns the token vectors at the end.
    pub(super) fn hidden(&self, text: &Text, scratch: &mut Scratch) -> Vec<f32> {
        let layout = text.encoder.packed.layout();
        let mut worker = Worker::new(scratch);
        self.reach(text, 2 * layout.layers.len(), &mut worker);
        room(&mut worker.scratch.hidden, text.ids.len() * layout.hidden).to_vec()
    }

    pub(super) fn work(&self, text: &Text, phase: usize, share: usize, worker: &mut Worker<'_>) {
        let Some(layer) = text.encoder.packed.layout().layers.get(phase / PHASES) else { return };
        let stage = phase / 2;
        self.reach(text, stage, worker);
        match phase % PHASES {
            0 => self.attend(text, layer, share, worker.scratch),
            1 => self.project(text, layer, share, stage, worker.scratch),
            2 => self.up(text, layer, share, worker.scratch),
            _ => self.down(text, layer, share, stage, worker.scratch),
        }
    }

    /// Brings a worker's token vectors to a stage.
    fn reach(&self, text: &Text, stage: usize, worker: &mut Worker<'_>) {
        if worker.stage == Some(stage) {
            return;
        }
        let (encoder, layout) = (&text.encoder, text.encoder.packed.layout());
        let Scratch { hidden, bytes, .. } = &mut *worker.scratch;
        let hidden = room(hidden, text.ids.len() * layout.hidden);
        let norm = match stage.checked_sub(1) {
            None => {
                encoder.look_up(&text.ids, 0, hidden);
                Some(&layout.norm)
            }
            Some(addition) => {
                let [even, odd] = &self.sums;
                let sums = if stage.is_multiple_of(2) { even } else { odd };
                for (columns, sums) in self.hidden.iter().zip(sums) {
                    put(&sums.read(), columns, hidden, layout.hidden);
                }
                let layer = layout.layers.get(addition / 2);
                layer.map(|layer| if addition % 2 == 0 { &layer.attention_norm } else { &layer.output_norm })
            }
        };
        if let Some(norm) = norm {
            encoder.norm(hidden, 0, norm, bytes);
        }
        worker.stage = Some(stage);
    }

    /// Computes the attention of the share's heads.
    fn attend(&self, text: &Text, layer: &Layer, share: usize, scratch: &mut Scratch) {
        let (Some(heads), Some(context)) = (self.heads.get(share), self.context.get(share)) else { return };
        let (encoder, layout, tokens) = (&text.encoder, text.encoder.packed.layout(), text.ids.len());
        if heads.is_empty() {
            return;
        }
        let Scratch { hidden, bytes, block, .. } = scratch;
        let (width, whole) = (heads.len() * layout.head, encoder.config.heads * layout.head);
        let qkv = room(&mut block.qkv, tokens * 3 * width);
        for third in 0..3 {
            let first = third * whole + heads.start * layout.head;
            let input = Input { floats: hidden, bytes, start: 0, tokens };
            let rows = qkv.get_mut(third * width..).unwrap_or_default();
            let out = Out { rows, stride: 3 * width, finish: Finish::Store };
            encoder.product(input, &layer.qkv, first..first + width, 0, out);
        }
        let mut context = context.write();
        let context = room(&mut context, tokens * width);
        encoder.attend(layer, qkv, 0, heads.clone(), &mut block.attention, context);
    }

    /// Computes the share's columns of what is normalised after attention.
    fn project(&self, text: &Text, layer: &Layer, share: usize, stage: usize, scratch: &mut Scratch) {
        let (encoder, layout, tokens) = (&text.encoder, text.encoder.packed.layout(), text.ids.len());
        let width = encoder.config.heads * layout.head;
        let Scratch { hidden, block, .. } = scratch;
        let hidden = room(hidden, tokens * layout.hidden);
        let context = room(&mut block.context, tokens * width);
        for (heads, part) in self.heads.iter().zip(&self.context) {
            let columns = heads.start * layout.head..heads.end * layout.head;
            put(&part.read(), &columns, context, width);
        }
        encoder.quantise(context, width, &layer.project, 0, &mut block.bytes);
        self.add(share, stage, hidden, layout.hidden, |columns, out| {
            let input = Input { floats: context, bytes: &block.bytes, start: 0, tokens };
            encoder.product(input, &layer.project, columns, 0, out);
        });
    }

    /// Computes the share's feed-forward activations.
    fn up(&self, text: &Text, layer: &Layer, share: usize, scratch: &mut Scratch) {
        let (encoder, tokens) = (&text.encoder, text.ids.len());
        let feeds = self.inner.iter().zip(&self.feed).enumerate();
        for (part, (columns, feed)) in feeds.skip(share).step_by(self.heads.len().max(1)) {
            if columns.is_empty() {
                continue;
            }
            let mut feed = feed.write();
            let FeedForward { floats, bytes } = &mut *feed;
            let floats = room(floats, tokens * columns.len());
            let input = Input { floats: &scratch.hidden, bytes: &scratch.bytes, start: 0, tokens };
            let finish = Finish::Activate(encoder.config.activation);
            let out = Out { rows: floats, stride: columns.len(), finish };
            encoder.product(input, &layer.up, columns.clone(), 0, out);
            encoder.quantise(floats, columns.len(), &layer.down, part, bytes);
        }
    }

    /// Computes the share's columns of what is normalised after the feed-forward block.
    fn down(&self, text: &Text, layer: &Layer, share: usize, stage: usize, scratch: &mut Scratch) {
        let (encoder, layout, tokens) = (&text.encoder, text.encoder.packed.layout(), text.ids.len());
        let Scratch { hidden, block, .. } = scratch;
        let hidden = room(hidden, tokens * layout.hidden);
        if encoder.dtype == Dtype::Float32 {
            let whole = room(&mut block.feed, tokens * layout.inner);
            for (columns, feed) in self.inner.iter().zip(&self.feed) {
                put(&feed.read().floats, columns, whole, layout.inner);
            }
        }
        self.add(share, stage, hidden, layout.hidden, |columns, out| {
            let Out { rows, stride, finish } = out;
            for part in 0..layer.down.parts() {
                let Some(feed) = self.feed.get(part) else { return };
                let feed = feed.read();
                let input = Input { floats: &block.feed, bytes: &feed.bytes, start: 0, tokens };
                let out = Out { rows: &mut *rows, stride, finish };
                encoder.product(input, &layer.down, columns.clone(), part, out);
            }
        });
    }

    /// Adds a product to the share's columns of the token vectors and stores them for the next stage.
    fn add(
        &self,
        share: usize,
        stage: usize,
        hidden: &[f32],
        width: usize,
        product: impl FnOnce(Range<usize>, Out<'_>),
    ) {
        let [even, odd] = &self.sums;
        let sums = if stage.is_multiple_of(2) { odd } else { even };
        let (Some(columns), Some(sums)) = (self.hidden.get(share), sums.get(share)) else { return };
        if columns.is_empty() {
            return;
        }
        let mut sums = sums.write();
        let rows = room(&mut sums, hidden.len() / width * columns.len());
        for (row, hidden) in rows.chunks_exact_mut(columns.len()).zip(hidden.chunks_exact(width)) {
            row.copy_from_slice(hidden.get(columns.clone()).unwrap_or_default());
        }
        product(columns.clone(), Out { rows, stride: columns.len(), finish: Finish::Add });
    }
}

/// Puts a share's columns in their place in rows of `width`.
fn put(share: &[f32], columns: &Range<usize>, rows: &mut [f32], width: usize) {
    if columns.is_empty() {
        return;
    }
    for (row, from) in rows.chunks_exact_mut(width).zip(share.chunks_exact(columns.len())) {
        row.get_mut(columns.clone()).unwrap_or_default().copy_from_slice(from);
    }
}
