//! The table of a kernel's operations: each is one function compiled with the kernel's instructions.
#![allow(unsafe_code)]

use super::attention::{AttentionScratch, Heads};
use super::panels::{BytesMut, PanelsF32, PanelsI8, RowsI8};
use super::product::Finish;
use super::rows::Norm;

type LinearI8 = unsafe fn(&RowsI8<'_>, &PanelsI8<'_>, &mut [f32], usize, Finish);
type LinearF32 = unsafe fn(&[f32], usize, usize, &PanelsF32<'_>, &mut [f32], usize, Finish);
type LayerNorm = unsafe fn(&mut [f32], usize, &Norm<'_>, Option<BytesMut<'_>>);
type Quantise = unsafe fn(&[f32], usize, BytesMut<'_>);
type Attention = unsafe fn(&[f32], usize, Heads, &mut AttentionScratch, &mut [f32]);

/// Operations of one kernel. Only `Kernel::operations` hands one out, and only if the processor runs it: that
/// makes the calls sound.
pub struct Operations {
    pub(super) linear_i8: LinearI8,
    pub(super) linear_f32: LinearF32,
    pub(super) layer_norm: LayerNorm,
    pub(super) quantise: Quantise,
    pub(super) attention: Attention,
}

impl Operations {
    /// Computes `out[r][c] = finish(a[r] . w[c] + bias[c])`, `ld` elements from row to row of `out`, which has room
    /// for whole panels.
    pub fn linear_i8(&self, a: &RowsI8<'_>, w: &PanelsI8<'_>, out: &mut [f32], ld: usize, finish: Finish) {
        // SAFETY: the processor runs this kernel.
        unsafe { (self.linear_i8)(a, w, out, ld, finish) }
    }

    /// Does the same as `linear_i8`, for f32 rows at a stride of the inner length.
    pub fn linear_f32(
        &self,
        a: &[f32],
        rows: usize,
        w: &PanelsF32<'_>,
        out: &mut [f32],
        ld: usize,
        finish: Finish,
    ) {
        // SAFETY: the processor runs this kernel.
        unsafe { (self.linear_f32)(a, w.k, rows, w, out, ld, finish) }
    }

    /// Normalises rows `[rows][stride]` in place, and writes them to bytes if asked.
    pub fn layer_norm(&self, x: &mut [f32], stride: usize, norm: &Norm<'_>, bytes: Option<BytesMut<'_>>) {
        // SAFETY: the processor runs this kernel.
        unsafe { (self.layer_norm)(x, stride, norm, bytes) }
    }

    /// Quantises rows `[rows][length]` to bytes, with a scale and a zero point for each row.
    pub fn quantise(&self, x: &[f32], length: usize, bytes: BytesMut<'_>) {
        // SAFETY: the processor runs this kernel.
        unsafe { (self.quantise)(x, length, bytes) }
    }

    /// Computes the attention of one text: `qkv` is `[tokens][3][heads][dim]`, `context` `[queries][heads][dim]` for
    /// the tokens from number `start` on.
    pub fn attention(
        &self,
        qkv: &[f32],
        start: usize,
        heads: Heads,
        scratch: &mut AttentionScratch,
        context: &mut [f32],
    ) {
        // SAFETY: the processor runs this kernel.
        unsafe { (self.attention)(qkv, start, heads, scratch, context) }
    }
}

/// Compiles all operations for one instruction set.
macro_rules! operations {
    ($name:ident, $isa:ty $(, #[$feature:meta])*) => {
        pub(super) static $name: crate::operations::Operations = {
            use crate::attention::{AttentionScratch, Heads};
            use crate::isa::Isa;
            use crate::operations::Operations;
            use crate::panels::{BytesMut, PanelsF32, PanelsI8, RowsI8};
            use crate::product::Finish;
            use crate::rows::Norm;
            use crate::{attention, product, rows};

            // SAFETY, for each: the caller has the instructions, by the promise of `Operations`.
            $(#[$feature])*
            unsafe fn linear_i8(a: &RowsI8<'_>, w: &PanelsI8<'_>, out: &mut [f32], ld: usize, finish: Finish) {
                unsafe { product::linear_i8::<$isa>(a, w, out, ld, finish) }
            }
            $(#[$feature])*
            unsafe fn linear_f32(
                a: &[f32], stride: usize, rows: usize, w: &PanelsF32<'_>, out: &mut [f32], ld: usize, finish: Finish,
            ) {
                unsafe { product::linear_f32::<$isa>(a, stride, rows, w, out, ld, finish) }
            }
            $(#[$feature])*
            unsafe fn layer_norm(x: &mut [f32], stride: usize, norm: &Norm<'_>, bytes: Option<BytesMut<'_>>) {
                unsafe { rows::layer_norm::<<$isa as Isa>::L>(x, stride, norm, bytes) }
            }
            $(#[$feature])*
            unsafe fn quantise(x: &[f32], length: usize, bytes: BytesMut<'_>) {
                unsafe { rows::quantise::<<$isa as Isa>::L>(x, length, bytes) }
            }
            $(#[$feature])*
            unsafe fn attend(
                qkv: &[f32], start: usize, heads: Heads, scratch: &mut AttentionScratch, context: &mut [f32],
            ) {
                unsafe { attention::attention::<$isa>(qkv, start, heads, scratch, context) }
            }
            Operations { linear_i8, linear_f32, layer_norm, quantise, attention: attend }
        };
    };
}
pub(super) use operations;
