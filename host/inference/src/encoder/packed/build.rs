//! The packer of a safetensors file into the packed image.

use super::layout::{Layout, Linear, Norm, Section};
use super::names::{Block, Names, PREFIXES, RELATIVE};
use crate::encoder::config::Config;
use crate::encoder::dtype::Dtype;
use crate::error::LoadError;
use crate::tensors::{Tensor, Tensors};
use bulkhead_kernels::panels::{channel_sum, nearest_i8, pack_channel_f32, pack_channel_i8};

/// The tensors of a model, all present and of the right shapes.
pub(super) struct Source<'a> {
    tensors: &'a Tensors,
    config: &'a Config,
    words: Tensor<'a>,
    /// None where positions are rotary.
    positions: Option<Tensor<'a>>,
    types: Option<Tensor<'a>>,
    /// `[buckets, heads]`.
    relative: Option<Tensor<'a>>,
    norm: Pair<'a>,
    layers: Vec<SourceLayer<'a>>,
}

/// Weight and bias, or some rows of them.
struct Pair<'a> {
    name: String,
    weight: Tensor<'a>,
    bias: Option<Tensor<'a>>,
    first: usize,
    rows: usize,
}

struct SourceLayer<'a> {
    query: Pair<'a>,
    key: Pair<'a>,
    value: Pair<'a>,
    project: Pair<'a>,
    attention_norm: Pair<'a>,
    up: Pair<'a>,
    /// What the activations are multiplied by.
    gate: Option<Pair<'a>>,
    down: Pair<'a>,
    output_norm: Pair<'a>,
}

/// Spreads runs of `from` indices to runs of `to`: heads to padded heads. One and one is the identity.
#[derive(Clone, Copy)]
struct Spread {
    from: usize,
    to: usize,
}

const SAME: Spread = Spread { from: 1, to: 1 };

impl Spread {
    fn index(self, index: usize) -> usize {
        index / self.from * self.to + index % self.from
    }
}

impl<'a> Source<'a> {
    /// Finds all tensors.
    ///
    /// # Errors
    ///
    /// Names the first that is missing or has another shape.
    pub(super) fn find(tensors: &'a Tensors, config: &'a Config) -> Result<Self, LoadError> {
        let names = Names::of(config.naming);
        let prefix = PREFIXES
            .into_iter()
            .find(|prefix| tensors.get(&format!("{prefix}{}.weight", names.words)).is_some())
            .unwrap_or_default();
        let (hidden, inner) = (config.hidden, config.inner);
        let table = |name: &str, rows: usize| {
            tensors.require(&format!("{prefix}embeddings.{name}_embeddings.weight"), &[rows, hidden])
        };
        let bias = |name: &str, rows: usize| -> Result<Option<Tensor<'a>>, LoadError> {
            let is_there = names.biased || tensors.get(name).is_some();
            is_there.then(|| tensors.require(name, &[rows])).transpose()
        };
        let linear = |of: &str, block: Block, rows: usize, k: usize| -> Result<Pair<'a>, LoadError> {
            let name = format!("{prefix}{of}.{}", block.name);
            let weight = tensors.require(&format!("{name}.weight"), &[rows * block.of, k])?;
            let bias = bias(&format!("{name}.bias"), rows * block.of)?;
            Ok(Pair { name, weight, bias, first: rows * block.index, rows })
        };
        // Checkpoints of the first years call a normalisation's weights gamma and beta.
        let norm = |name: &str| -> Result<Pair<'a>, LoadError> {
            let name = format!("{prefix}{name}");
            let is_old = tensors.get(&format!("{name}.gamma")).is_some();
            let (gamma, beta) = if is_old { ("gamma", "beta") } else { ("weight", "bias") };
            let weight = tensors.require(&format!("{name}.{gamma}"), &[hidden])?;
            let bias = bias(&format!("{name}.{beta}"), hidden)?;
            Ok(Pair { name, weight, bias, first: 0, rows: hidden })
        };
        // Of an encoder that normalises first, a layer's second norm is the first of the layer after.
        let norms = |index: usize| -> Result<(Pair<'a>, Pair<'a>), LoadError> {
            let of = |index: usize, part: &str| norm(&format!("{}.{index}.{part}", names.layers));
            Ok(match names.last_norm {
                None => (of(index, names.attention_norm)?, of(index, names.output_norm)?),
                Some(last) if index + 1 == config.layers => (of(index, names.output_norm)?, norm(last)?),
                Some(_) => (of(index, names.output_norm)?, of(index + 1, names.attention_norm)?),
            })
        };
        let layer = |index: usize| -> Result<SourceLayer<'a>, LoadError> {
            let of = format!("{}.{index}", names.layers);
            let (attention_norm, output_norm) = norms(index)?;
            Ok(SourceLayer {
                query: linear(&of, names.query, hidden, hidden)?,
                key: linear(&of, names.key, hidden, hidden)?,
                value: linear(&of, names.value, hidden, hidden)?,
                project: linear(&of, names.project, hidden, hidden)?,
                attention_norm,
                up: linear(&of, names.up, inner, hidden)?,
                gate: names.gate.map(|gate| linear(&of, gate, inner, hidden)).transpose()?,
                down: linear(&of, names.down, hidden, inner)?,
                output_norm,
            })
        };
        let relative = || tensors.require(&format!("{prefix}{RELATIVE}"), &[config.buckets, config.heads]);
        let words =
            tensors.require(&format!("{prefix}{}.weight", names.words), &[config.vocabulary, hidden])?;
        Ok(Self {
            tensors,
            config,
            words,
            positions: match config.rotary {
                None => Some(table("position", config.positions)?),
                Some(_) => None,
            },
            types: if config.types > 0 { Some(table("token_type", config.types)?) } else { None },
            relative: if config.buckets > 0 { Some(relative()?) } else { None },
            norm: norm(names.norm)?,
            layers: (0..config.layers).map(layer).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the image, which is zero so far.
    ///
    /// # Errors
    ///
    /// Names a tensor of an element type that is not served, or with values that are not finite.
    pub(super) fn pack(&self, layout: &Layout, image: &mut [u8]) -> Result<(), LoadError> {
        let mut writer = Writer { source: self, layout, image };
        writer.tables()?;
        writer.norm(&layout.norm, &self.norm)?;
        let heads = Spread { from: self.config.head(), to: layout.head };
        // The softmax is one of base two: e^(q.k / sqrt d) = 2^(q.k log2(e) / sqrt d).
        let factor = std::f32::consts::LOG2_E / (self.config.head() as f32).sqrt();
        for (layer, at) in self.layers.iter().zip(&layout.layers) {
            let width = self.config.heads * layout.head;
            for (part, (pair, factor)) in
                [(&layer.query, factor), (&layer.key, 1.0), (&layer.value, 1.0)].into_iter().enumerate()
            {
                writer.linear(&at.qkv, pair, part * width, heads, SAME, factor)?;
            }
            writer.linear(&at.project, &layer.project, 0, SAME, heads, 1.0)?;
            writer.norm(&at.attention_norm, &layer.attention_norm)?;
            writer.linear(&at.up, &layer.up, 0, SAME, SAME, 1.0)?;
            if let Some(gate) = &layer.gate {
                writer.linear(&at.up, gate, layout.inner, SAME, SAME, 1.0)?;
            }
            writer.linear(&at.down, &layer.down, 0, SAME, SAME, 1.0)?;
            writer.norm(&at.output_norm, &layer.output_norm)?;
        }
        Ok(())
    }

    /// Returns the elements of one row of a matrix, or of a whole vector.
    fn elements(&self, name: &str, tensor: Tensor<'_>, row: usize) -> Result<Vec<f32>, LoadError> {
        let rows = if tensor.shape.len() > 1 { tensor.shape.first().copied().unwrap_or(1) } else { 1 };
        let length = tensor.bytes.len() / rows.max(1);
        let bytes = tensor.bytes.get(row * length..(row + 1) * length).unwrap_or_default();
        let values = Tensor { bytes, ..tensor }.to_f32().ok_or_else(|| {
            let reason = format!("tensor `{name}` has element type {:?}, which is not served", tensor.dtype);
            LoadError::malformed(self.tensors.path(), reason)
        })?;
        if values.iter().all(|value| value.is_finite()) {
            return Ok(values);
        }
        let reason = format!("tensor `{name}` has values that are not finite");
        Err(LoadError::malformed(self.tensors.path(), reason))
    }
}

struct Writer<'a> {
    source: &'a Source<'a>,
    layout: &'a Layout,
    image: &'a mut [u8],
}

impl Writer<'_> {
    /// Writes words, positions with the first type's vector added, the step to the second type, and biases of
    /// attention.
    fn tables(&mut self) -> Result<(), LoadError> {
        let (source, hidden) = (self.source, self.layout.hidden);
        let types = match source.types {
            Some(types) => source.elements("token_type_embeddings", types, 0)?,
            None => vec![0.0; source.config.hidden],
        };
        if let Some(table) = source.types.filter(|_| source.config.types > 1) {
            let mut second = source.elements("token_type_embeddings", table, 1)?;
            second.iter_mut().zip(&types).for_each(|(x, first)| *x -= first);
            self.put(self.layout.second, 0, &second);
        }
        for bucket in 0..source.config.buckets {
            let Some(table) = source.relative else { break };
            // Of base two, as the scores that they are added to.
            for (head, bias) in source.elements(RELATIVE, table, bucket)?.iter().enumerate() {
                let at = head * source.config.buckets + bucket;
                self.put(self.layout.relative, at, &[bias * std::f32::consts::LOG2_E]);
            }
        }
        for index in 0..source.config.position_rows() {
            let mut row = match source.positions {
                Some(positions) => source.elements("position_embeddings", positions, index)?,
                None => vec![0.0; source.config.hidden],
            };
            row.iter_mut().zip(&types).for_each(|(x, more)| *x += more);
            self.put(self.layout.positions, index * hidden, &row);
        }
        for index in 0..source.config.vocabulary {
            let row = source.elements("word_embeddings", source.words, index)?;
            match self.layout.dtype {
                Dtype::Float32 => self.put(self.layout.words, index * hidden, &row),
                Dtype::Int8 => {
                    let highest = row.iter().fold(0.0_f32, |high, x| high.max(x.abs()));
                    let inverse = if highest > 0.0 { 127.0 / highest } else { 0.0 };
                    let to = self.i8s(self.layout.words);
                    for (to, x) in to.iter_mut().skip(index * hidden).zip(&row) {
                        *to = nearest_i8(x * inverse);
                    }
                    self.put(self.layout.word_scale, index, &[highest / 127.0]);
                }
            }
        }
        Ok(())
    }

    fn norm(&mut self, at: &Norm, pair: &Pair<'_>) -> Result<(), LoadError> {
        let gamma = self.source.elements(&pair.name, pair.weight, 0)?;
        self.put(at.gamma, 0, &gamma);
        if let Some(bias) = pair.bias {
            let beta = self.source.elements(&pair.name, bias, 0)?;
            self.put(at.beta, 0, &beta);
        }
        Ok(())
    }

    /// Packs rows of a weight `[n, k]`: row r of them becomes channel `first + rows.index(r)`, its column c inner index
    /// `columns.index(c)`.
    fn linear(
        &mut self,
        at: &Linear,
        pair: &Pair<'_>,
        first: usize,
        rows: Spread,
        columns: Spread,
        factor: f32,
    ) -> Result<(), LoadError> {
        let biases = match pair.bias {
            Some(bias) => self.source.elements(&pair.name, bias, 0)?,
            None => Vec::new(),
        };
        let mut arranged = vec![0.0; at.k];
        for row in 0..pair.rows {
            let weights = self.source.elements(&pair.name, pair.weight, pair.first + row)?;
            let bias = biases.get(pair.first + row).copied().unwrap_or_default();
            for (column, weight) in weights.iter().enumerate() {
                if let Some(to) = arranged.get_mut(columns.index(column)) {
                    *to = weight * factor;
                }
            }
            let channel = first + rows.index(row);
            match self.layout.dtype {
                Dtype::Float32 => pack_channel_f32(&arranged, channel, at.k, self.f32s(at.data)),
                Dtype::Int8 => {
                    let scale = pack_channel_i8(&arranged, channel, at.k, self.i8s(at.data));
                    for part in 0..at.parts() {
                        let inner = part * at.part..at.k.min((part + 1) * at.part);
                        let sum = channel_sum(self.i8s(at.data), channel, at.k, inner);
                        self.put(at.sum, part * at.n + channel, &[sum]);
                    }
                    self.put(at.scale, channel, &[scale]);
                }
            }
            self.put(at.bias, channel, &[bias * factor]);
        }
        Ok(())
    }

    fn put(&mut self, section: Section, at: usize, values: &[f32]) {
        self.f32s(section).iter_mut().skip(at).zip(values).for_each(|(to, x)| *to = *x);
    }

    fn bytes(&mut self, section: Section) -> &mut [u8] {
        self.image.get_mut(section.offset..section.offset + section.length).unwrap_or_default()
    }

    fn f32s(&mut self, section: Section) -> &mut [f32] {
        // SAFETY: any four bytes are an f32 and the reverse; sections are aligned, as in `Packed`.
        #[allow(unsafe_code)]
        let (_, elements, _) = unsafe { self.bytes(section).align_to_mut::<f32>() };
        elements
    }

    fn i8s(&mut self, section: Section) -> &mut [i8] {
        // SAFETY: any byte is an i8 and the reverse.
        #[allow(unsafe_code)]
        let (_, elements, _) = unsafe { self.bytes(section).align_to_mut::<i8>() };
        elements
    }
}
