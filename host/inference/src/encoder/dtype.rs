//! The element type of an encoder's arithmetic.

/// The element type of an encoder's arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Dtype {
    /// Eight-bit weights (a scale for each output channel) and activations (a scale for each token); cosine to
    /// f32 above 0.99.
    #[default]
    Int8,
    /// 32-bit floating point throughout.
    Float32,
}

impl Dtype {
    /// Returns the name used in flags and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Float32 => "float32",
        }
    }
}
