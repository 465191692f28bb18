//! Pooling of the vectors of a text's tokens to the vector of the text.

/// How a text's vector is made from its tokens' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// The mean over all tokens, special ones among them.
    Mean,
    /// The first token.
    Cls,
    /// The last token.
    Last,
}

impl Pooling {
    /// Returns the name that sentence-transformers and text-embeddings-inference use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Last => "last_token",
        }
    }

    /// Pools rows `[tokens][stride]`, of which the first `out.len()` count, into `out`.
    pub(crate) fn pool(self, rows: &[f32], stride: usize, out: &mut [f32]) {
        let mut rows = rows.chunks_exact(stride);
        match self {
            Self::Mean => {
                let factor = 1.0 / rows.len().max(1) as f32;
                out.fill(0.0);
                for row in rows {
                    out.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                }
                out.iter_mut().for_each(|x| *x *= factor);
            }
            Self::Cls => copy(rows.next(), out),
            Self::Last => copy(rows.next_back(), out),
        }
    }
}

fn copy(row: Option<&[f32]>, out: &mut [f32]) {
    if let Some(row) = row {
        out.iter_mut().zip(row).for_each(|(out, x)| *out = *x);
    }
}
