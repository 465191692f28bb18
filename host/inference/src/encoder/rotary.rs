//! Rotary positions (Su et al. 2021): queries and keys are turned by angles that grow with their place in the text, so that
//! their products depend on the distance. And attention to the tokens near a query alone, as ModernBERT has it.

use bulkhead_heads::dot;
use bulkhead_kernels::Heads;
use serde::Deserialize;

/// The largest base of the angles, and the largest factor of its scaling.
const LARGEST: f32 = 1e12;

/// How an architecture states its rotary positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RotaryKind {
    /// ModernBERT: by the kind of a layer.
    ModernBert,
    /// NomicBERT.
    NomicBert,
    /// GTE.
    Gte,
}

/// The angles by which an encoder turns its queries and keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rotary {
    /// The base of the angles in layers that attend to the whole text.
    theta: f32,
    /// The base in layers that attend to near tokens.
    local_theta: f32,
    /// What the angles are multiplied by.
    scale: f32,
    /// Tokens on either side of a query that a local layer attends to.
    window: usize,
    /// Every layer whose number is a multiple of this attends to the whole text; the others are local.
    whole_every: usize,
}

/// The members of `config.json` that say how positions are turned, as far as architectures with them have them.
#[derive(Deserialize)]
struct RotaryFile {
    rope_parameters: Option<Parameters>,
    rope_scaling: Option<Scaling>,
    rope_theta: Option<f32>,
    // ModernBERT's.
    global_rope_theta: Option<f32>,
    local_rope_theta: Option<f32>,
    global_attn_every_n_layers: Option<usize>,
    local_attention: Option<usize>,
    layer_types: Option<Vec<String>>,
    // NomicBERT's.
    rotary_emb_base: Option<f32>,
    rotary_emb_fraction: Option<f32>,
    #[serde(default)]
    rotary_emb_interleaved: bool,
}

/// `rope_parameters`: for all layers, or for those of each kind.
#[derive(Deserialize)]
struct Parameters {
    rope_theta: Option<f32>,
    rope_type: Option<String>,
    full_attention: Option<Angles>,
    sliding_attention: Option<Angles>,
}

/// The angles of one kind of layers.
#[derive(Deserialize)]
struct Angles {
    rope_theta: Option<f32>,
    rope_type: Option<String>,
}

/// `rope_scaling`, for texts that are longer than those of the training.
#[derive(Deserialize)]
struct Scaling {
    rope_type: Option<String>,
    /// Its older name.
    #[serde(rename = "type")]
    old_type: Option<String>,
    factor: Option<f32>,
    mixed_b: Option<f32>,
}

impl RotaryFile {
    /// Checks the members for heads of `head` dimensions.
    fn checked(&self, kind: RotaryKind, head: usize) -> Result<Rotary, String> {
        if head < 4 || !head.is_multiple_of(2) {
            return Err(format!("heads of {head} dimensions cannot be turned"));
        }
        if self.rotary_emb_interleaved || self.rotary_emb_fraction.is_some_and(|fraction| fraction != 1.0) {
            return Err(
                "`rotary_emb_interleaved` and `rotary_emb_fraction` are served as false and 1".to_owned()
            );
        }
        let parameters = self.rope_parameters.as_ref();
        let full = parameters.and_then(|parameters| parameters.full_attention.as_ref());
        let sliding = parameters.and_then(|parameters| parameters.sliding_attention.as_ref());
        let kinds = [
            parameters.and_then(|parameters| parameters.rope_type.as_deref()),
            full.and_then(|angles| angles.rope_type.as_deref()),
            sliding.and_then(|angles| angles.rope_type.as_deref()),
        ];
        if let Some(other) = kinds.into_iter().flatten().find(|kind| *kind != "default") {
            return Err(format!("`rope_type` `{other}` is not served"));
        }
        let stated = parameters.and_then(|parameters| parameters.rope_theta).or(self.rope_theta);
        let (theta, local_theta) = match kind {
            RotaryKind::ModernBert => (
                full.and_then(|angles| angles.rope_theta).or(self.global_rope_theta).unwrap_or(160_000.0),
                sliding.and_then(|angles| angles.rope_theta).or(self.local_rope_theta).unwrap_or(10_000.0),
            ),
            RotaryKind::NomicBert => {
                let theta = stated.or(self.rotary_emb_base).unwrap_or(1000.0);
                (theta, theta)
            }
            RotaryKind::Gte => {
                let theta = stated.unwrap_or(10_000.0);
                (theta, theta)
            }
        };
        let (factor, scale) = self.scaling(head)?;
        let (theta, local_theta) = (theta * factor, local_theta * factor);
        if ![theta, local_theta].iter().all(|theta| (1.0..=LARGEST).contains(theta)) {
            return Err(format!("angles of base {theta} and {local_theta} are not served"));
        }
        let (whole_every, window) = match kind {
            RotaryKind::ModernBert => (self.whole_every()?, self.local_attention.unwrap_or(128) / 2),
            RotaryKind::NomicBert | RotaryKind::Gte => (1, usize::MAX),
        };
        Ok(Rotary { theta, local_theta, scale, window, whole_every })
    }

    /// Returns what the base and the angles are multiplied by (`NTKScalingRotaryEmbedding` of GTE's own code).
    fn scaling(&self, head: usize) -> Result<(f32, f32), String> {
        let Some(Scaling { rope_type, old_type, factor, mixed_b }) = &self.rope_scaling else {
            return Ok((1.0, 1.0));
        };
        let kind = rope_type.as_deref().or(old_type.as_deref()).unwrap_or("default");
        let factor = factor.unwrap_or(1.0);
        if kind == "default" || (kind == "ntk" && factor == 1.0) {
            return Ok((1.0, 1.0));
        }
        if kind != "ntk" || mixed_b.is_some() || !(1.0..=LARGEST).contains(&factor) {
            return Err(format!("`rope_scaling` of type `{kind}` and factor {factor} is not served"));
        }
        Ok((factor, factor.powf(-2.0 / head as f32)))
    }

    /// Returns which layers attend to the whole text: those whose number is a multiple of it.
    fn whole_every(&self) -> Result<usize, String> {
        let Some(types) = &self.layer_types else {
            let every = self.global_attn_every_n_layers.unwrap_or(3);
            return if every > 0 { Ok(every) } else { Err("`global_attn_every_n_layers` is 0".to_owned()) };
        };
        let is_whole = |kind: &String| kind == "full_attention";
        let every = types.iter().skip(1).position(is_whole).map_or(types.len().max(1), |at| at + 1);
        let regular = types.iter().enumerate().all(|(at, kind)| {
            is_whole(kind) == at.is_multiple_of(every) && (is_whole(kind) || kind == "sliding_attention")
        });
        if regular { Ok(every) } else { Err(format!("`layer_types` {types:?} are not served")) }
    }
}

impl Rotary {
    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    ///
    /// When it is malformed, or positions are turned in a way that is not served.
    pub(super) fn read(text: &[u8], kind: RotaryKind, head: usize) -> Result<Self, String> {
        let file: RotaryFile = serde_json::from_slice(text).map_err(|fault| fault.to_string())?;
        file.checked(kind, head)
    }

    /// Returns whether the layer of this number attends to near tokens only.
    pub(super) fn is_local(&self, layer: usize) -> bool {
        !layer.is_multiple_of(self.whole_every)
    }

    /// Returns how many tokens on either side a layer attends to, if not to all of so many tokens.
    pub(super) fn window(&self, is_local: bool, tokens: usize) -> Option<usize> {
        (is_local && tokens > self.window.saturating_add(1)).then_some(self.window)
    }

    /// Returns `qkv`, `[tokens][3][heads][dim]`, with queries and keys turned; a head's first `head` dimensions count.
    pub(super) fn turned(
        &self,
        qkv: &[f32],
        Heads { heads, dim, .. }: Heads,
        head: usize,
        is_local: bool,
    ) -> Vec<f32> {
        let mut turned = qkv.to_vec();
        let half = head / 2;
        let theta = if is_local { self.local_theta } else { self.theta };
        let frequency = |at: usize| self.scale * theta.powf(-(at as f32) / half as f32);
        let frequencies: Vec<f32> = (0..half).map(frequency).collect();
        for (token, row) in turned.chunks_exact_mut((3 * heads * dim).max(1)).enumerate() {
            let angles: Vec<(f32, f32)> =
                frequencies.iter().map(|frequency| (token as f32 * frequency).sin_cos()).collect();
            for vector in row.chunks_exact_mut(dim).take(2 * heads) {
                let (first, second) = vector.split_at_mut(half);
                for ((x, y), (sin, cos)) in first.iter_mut().zip(second).zip(&angles) {
                    (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
                }
            }
        }
        turned
    }
}

/// Computes attention to at most `window` tokens on either side of a query: `qkv` is `[tokens][3][heads][dim]`, `context`
/// `[queries][heads][dim]` for the tokens from number `start` on. Queries come scaled for an exponential of base two.
pub(super) fn near(
    qkv: &[f32],
    start: usize,
    Heads { heads, dim, .. }: Heads,
    window: usize,
    context: &mut [f32],
) {
    let width = heads * dim;
    let tokens = qkv.len() / (3 * width).max(1);
    let mut scores = Vec::new();
    for (row, out) in context.chunks_exact_mut(width.max(1)).enumerate() {
        let query = start + row;
        let keys = query.saturating_sub(window)..tokens.min(query + window + 1);
        for (head, out) in out.chunks_exact_mut(dim.max(1)).enumerate() {
            let part = |token: usize, third: usize| {
                let from = (3 * token + third) * width + head * dim;
                qkv.get(from..from + dim).unwrap_or_default()
            };
            scores.clear();
            scores.extend(keys.clone().map(|key| dot(part(query, 0), part(key, 1))));
            let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = (*score - highest).exp2());
            let sum: f32 = scores.iter().sum();
            out.fill(0.0);
            for (key, score) in keys.clone().zip(&scores) {
                let weight = score / sum;
                out.iter_mut().zip(part(key, 2)).for_each(|(out, value)| *out += weight * value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn checked(kind: RotaryKind, json: &str) -> Result<Rotary, String> {
        Rotary::read(json.as_bytes(), kind, 64)
    }

    #[test]
    fn layers_are_local_as_configured() {
        let old =
            checked(RotaryKind::ModernBert, r#"{"global_attn_every_n_layers": 2, "local_attention": 8}"#)
                .unwrap();
        let types = r#"{"layer_types": ["full_attention", "sliding_attention", "full_attention"], "local_attention": 8}"#;
        assert_eq!(checked(RotaryKind::ModernBert, types).unwrap(), old);
        assert_eq!([0, 1, 2, 3].map(|layer| old.is_local(layer)), [false, true, false, true]);
        assert_eq!(
            [(true, 5), (true, 6), (false, 6)].map(|(local, n)| old.window(local, n)),
            [None, Some(4), None]
        );
        let irregular = r#"{"layer_types": ["sliding_attention", "full_attention"]}"#;
        assert!(checked(RotaryKind::ModernBert, irregular).is_err());
    }

    #[test]
    fn unknown_scaling_is_refused() {
        for json in [
            r#"{"rope_parameters": {"rope_type": "yarn"}}"#,
            r#"{"rope_scaling": {"type": "linear", "factor": 2.0}}"#,
            r#"{"rope_scaling": {"type": "ntk", "factor": 0.0}}"#,
            r#"{"rope_theta": 0.0}"#,
        ] {
            assert!(checked(RotaryKind::Gte, json).is_err(), "{json}");
        }
        let scaled = checked(
            RotaryKind::Gte,
            r#"{"rope_theta": 500000.0, "rope_scaling": {"type": "ntk", "factor": 2.0}}"#,
        );
        let scaled = scaled.unwrap();
        assert_eq!((scaled.theta, scaled.scale), (1e6, 2.0_f32.powf(-1.0 / 32.0)));
    }
}
