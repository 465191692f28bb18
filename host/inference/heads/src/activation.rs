//! Activation functions of dense layers.

use crate::source::HeadError;

/// An activation function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadActivation {
    /// `x`.
    #[default]
    Identity,
    /// `x / 2 * (1 + erf(x / sqrt 2))`.
    Gelu,
    /// GELU by its tanh formula.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `tanh x`.
    Tanh,
}

impl HeadActivation {
    /// Returns the function of a name in a configuration: as transformers has it (`gelu`), or the class that
    /// sentence-transformers names (`torch.nn.modules.activation.Tanh`).
    ///
    /// # Errors
    ///
    /// When the name is not known.
    pub fn named(name: &str) -> Result<Self, HeadError> {
        match name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase().as_str() {
            "identity" | "linear" => Ok(Self::Identity),
            "gelu" | "gelu_python" => Ok(Self::Gelu),
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Ok(Self::GeluTanh),
            "relu" => Ok(Self::Relu),
            "sigmoid" => Ok(Self::Sigmoid),
            "tanh" => Ok(Self::Tanh),
            _ => Err(HeadError(format!(
                "activation function `{name}` is not known; known are identity, gelu, gelu_new, relu, sigmoid, tanh"
            ))),
        }
    }

    /// Applies the function to one value.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Gelu => 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
            Self::GeluTanh => 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh()),
            Self::Relu => x.max(0.0),
            Self::Sigmoid => sigmoid(x),
            Self::Tanh => x.tanh(),
        }
    }
}

/// Returns `1 / (1 + e^-x)`.
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// Computes the error function by Abramowitz and Stegun 7.1.26; error 1.5e-7.
fn erf(x: f32) -> f32 {
    const COEFFICIENTS: [f64; 5] =
        [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let size = f64::from(x.abs());
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum = COEFFICIENTS.iter().fold(0.0, |sum, coefficient| sum * t + coefficient) * t;
    let value = (1.0 - sum * (-size * size).exp()) as f32;
    if x < 0.0 { -value } else { value }
}
