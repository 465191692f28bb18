//! Matrix products and row operations for each instruction set, chosen at run time.
//!
//! All kernels share one weight layout (`panels`), so a packed file serves every processor, and one arithmetic:
//! int8 products are exact integers, and floats are added in one order. All but the portable one, which rounds a product
//! before it is added, give the same bits.

#[cfg(target_arch = "x86_64")]
mod amx;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod decimals;
mod detect;
mod isa;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operations;
pub mod panels;
pub mod peak;
mod portable;
mod product;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use attention::{AttentionScratch, Heads};
pub use isa::LANES;
pub use operations::Operations;
pub use product::Finish;
pub use rows::{Activation, Norm};

/// An instruction set that matrix products are written for, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// AMX int8 tiles; row operations and fp32 by AVX-512. Linux only (the kernel must grant tile state).
    Amx,
    /// AVX-512 F, BW, VL, DQ and VNNI.
    Avx512Vnni,
    /// AVX2, FMA and the 256-bit VNNI encoding.
    AvxVnni,
    /// AVX2 and FMA.
    Avx2,
    /// 64-bit ARM.
    Neon,
    /// Plain Rust, for any processor.
    Portable,
}

/// A kernel's name that is not known.
#[derive(Debug, thiserror::Error)]
#[error("kernel `{0}` is not known; known are amx, avx512-vnni, avx-vnni, avx2, neon, portable")]
pub struct UnknownKernel(String);

impl Kernel {
    /// All kernels, best first.
    pub const ALL: [Self; 6] =
        [Self::Amx, Self::Avx512Vnni, Self::AvxVnni, Self::Avx2, Self::Neon, Self::Portable];

    /// Returns the best kernel that this processor runs.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().into_iter().next().unwrap_or(Self::Portable)
    }

    /// Returns the kernels that this processor runs, best first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|kernel| detect::runs(*kernel)).collect()
    }

    /// Returns the name used in flags and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Amx => "amx",
            Self::Avx512Vnni => "avx512-vnni",
            Self::AvxVnni => "avx-vnni",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Returns the kernel's operations; `None` if this processor does not run it.
    pub fn operations(self) -> Option<&'static Operations> {
        if !detect::runs(self) {
            return None;
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Some(&amx::OPERATIONS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => Some(&avx512::OPERATIONS),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => Some(&avx2::VNNI_OPERATIONS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some(&avx2::OPERATIONS),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some(&neon::OPERATIONS),
            Self::Portable => Some(&portable::OPERATIONS),
            #[allow(unreachable_patterns, reason = "kernels of the other architecture")]
            _ => None,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = UnknownKernel;

    fn from_str(text: &str) -> Result<Self, UnknownKernel> {
        Self::ALL
            .into_iter()
            .find(|kernel| kernel.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownKernel(text.to_owned()))
    }
}
