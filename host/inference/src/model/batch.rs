//! What the engine needs of a model to embed a batch.

use super::{BatchHooks, EmbedOptions, Model, Network, Scratch, TokenRows, WorkGroup};
use crate::error::EmbedError;
use crate::late_interaction::TokenVectors;
use crate::static_model::{StaticError, StaticModel};

impl Model {
    /// Embeds texts as [`Self::embed`] does, followed by `hooks`.
    pub(crate) fn embed_followed(
        &self,
        ids: &[u32],
        offsets: &[usize],
        scratch: &mut Scratch,
        out: &mut [f32],
        hooks: &mut dyn BatchHooks,
    ) -> Result<(), EmbedError> {
        match &self.network {
            Network::Encoder(encoder, pooling, _) => {
                encoder.embed_followed(ids, offsets, *pooling, scratch, out, hooks)
            }
            #[cfg(test)]
            #[allow(clippy::panic)]
            Network::Faulty { panics_at, .. } if ids.contains(panics_at) => panic!("poison"),
            #[cfg(test)]
            Network::Faulty { fails_at, .. } if ids.contains(fails_at) => {
                Err(EmbedError::NotFinite { text: 0 })
            }
            #[cfg(test)]
            Network::Faulty { model, .. } => self.embed_static(model, ids, offsets, out),
            Network::Static(model) => self.embed_static(model, ids, offsets, out),
        }
    }

    /// Returns the vectors of a text's own tokens out of those of all, which `rows` has: without prompt and special
    /// tokens; or what else is wanted of the tokens. `None` if nothing is, or the model makes none. `pause` runs between
    /// parts of long work.
    pub(crate) fn token_vectors(
        &self,
        ids: &[u32],
        rows: TokenRows<'_>,
        options: &EmbedOptions,
        pause: &mut dyn FnMut(),
    ) -> Option<TokenVectors> {
        if let Some(found) = self.head.of_tokens(rows, self.width(), options.output, pause) {
            return Some(found);
        }
        let late_interaction = self.late_interaction.as_ref().filter(|_| options.token_vectors)?;
        let around = self.tokenize("", options).ok()?.ids;
        let alike = |(own, other): &(&u32, &u32)| own == other;
        let before = ids.iter().zip(&around).take_while(alike).count();
        let rest = ids.iter().skip(before).rev().zip(around.iter().skip(before).rev());
        let end = ids.len() - rest.take_while(alike).count();
        let own = rows.rows.get(before * rows.stride..end * rows.stride)?;
        Some(late_interaction.token_vectors(own, rows.stride))
    }

    /// Prepares the embedding of one text by several threads; `None` if there are not several, or the model gains
    /// nothing by it.
    pub(crate) fn work_group(&self, ids: &[u32], threads: usize) -> Option<Result<WorkGroup, EmbedError>> {
        match &self.network {
            Network::Encoder(encoder, pooling, _) if threads > 1 => {
                Some(WorkGroup::new(encoder, ids.to_vec(), *pooling, threads))
            }
            _ => None,
        }
    }

    fn embed_static(
        &self,
        model: &StaticModel,
        ids: &[u32],
        offsets: &[usize],
        out: &mut [f32],
    ) -> Result<(), EmbedError> {
        let texts = offsets.len().saturating_sub(1);
        let shape = |reason| EmbedError::Shape { texts, reason };
        for (text, (range, out)) in offsets.windows(2).zip(out.chunks_exact_mut(self.dims())).enumerate() {
            let [start, end] = *range else { continue };
            let ids = ids.get(start..end).ok_or(shape("an offset lies outside the ids"))?;
            model.embed(ids, out).map_err(|error| match error {
                StaticError::Id { id } => EmbedError::Vocabulary {
                    text,
                    id,
                    vocabulary: model.tokenizer().id_bound(false) as usize,
                },
                StaticError::Dims { .. } => shape("the output is not [texts, dims]"),
                StaticError::NotFinite => EmbedError::NotFinite { text },
            })?;
        }
        Ok(())
    }
}
