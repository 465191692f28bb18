//! Matrix products over panels: the order of the tiles and the last step of each.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::mem::MaybeUninit;

use super::isa::{Isa, LANES, Lanes, Tile, TileF32, TileI8};
use super::panels::{PanelsF32, PanelsI8, ROW_PAD, RowsI8};
use super::rows::{Activation, activate, activate_coarse};

/// The last step of a product, after the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It replaces the output.
    Store,
    /// It passes an activation function and replaces the output.
    Activate(Activation),
    /// It is added to the output.
    Add,
}

/// Computes `out[r][c] = finish(sum over k of a[r][k] * w[c][k] + bias[c])` for int8 operands; `ld` elements from row
/// to row of `out`.
///
/// # Safety
///
/// The processor has the instruction set. Bounds are asserted.
#[inline(always)]
pub(super) unsafe fn linear_i8<I: Isa>(
    a: &RowsI8<'_>,
    w: &PanelsI8<'_>,
    out: &mut [f32],
    ld: usize,
    finish: Finish,
) {
    let (rows, n, k) = (a.scale.len(), w.scale.len(), w.k);
    assert!(
        a.zero.len() == rows && a.stride >= k && a.bytes.len() >= rows.next_multiple_of(ROW_PAD) * a.stride
    );
    assert!(n.is_multiple_of(LANES) && w.sum.len() == n && w.bias.len() == n);
    assert!(k == super::panels::pad_inner(k) && rows > 0 && ld >= n && out.len() >= (rows - 1) * ld + n);
    let panels = n / LANES;
    assert!(panels > 0 && w.stride >= LANES * k && w.data.len() >= (panels - 1) * w.stride + LANES * k);
    let mut acc = MaybeUninit::<Tile<i32>>::uninit();
    let acc = acc.as_mut_ptr().cast::<i32>();
    let out = out.as_mut_ptr();
    // SAFETY: rows and panels stay inside the lengths asserted above; the tile writes what is read of `acc`.
    unsafe {
        I::enter(k);
        let mut p = 0;
        while p < panels {
            let tile_panels = I::I8_PANELS.min(panels - p);
            let mut r = 0;
            while r < rows {
                let tile_rows = share(rows - r, I::I8_ROWS, I::EVEN_ROWS);
                let tile = TileI8 {
                    a: a.bytes.as_ptr().add(r * a.stride),
                    a_stride: a.stride,
                    b: w.data.as_ptr().add(p * w.stride),
                    b_stride: w.stride,
                    k,
                    rows: tile_rows,
                    panels: tile_panels,
                };
                I::tile_i8(tile, acc);
                let scale_a = a.scale.as_ptr().add(r);
                let zero_a = a.zero.as_ptr().add(r);
                let mut q = 0;
                while q < tile_panels {
                    let column = (p + q) * LANES;
                    let scale = I::L::load(w.scale.as_ptr().add(column));
                    let sum = I::L::load(w.sum.as_ptr().add(column));
                    let bias = I::L::load(w.bias.as_ptr().add(column));
                    let mut i = 0;
                    while i < tile_rows {
                        let zero = I::L::splat(-*zero_a.add(i));
                        let x = I::L::from_i32(acc.add((i * I::I8_PANELS + q) * LANES));
                        let x = I::L::fma(zero, sum, x);
                        let x = I::L::fma(I::L::mul(x, scale), I::L::splat(*scale_a.add(i)), bias);
                        end::<I::L, true>(x, out.add((r + i) * ld + column), finish);
                        i += 1;
                    }
                    q += 1;
                }
                r += tile_rows;
            }
            p += tile_panels;
        }
        I::leave();
    }
}

/// Does the same as `linear_i8`, for f32 operands; `stride` elements from row to row of `a`.
///
/// # Safety
///
/// The processor has the instruction set. Bounds are asserted.
#[inline(always)]
pub(super) unsafe fn linear_f32<I: Isa>(
    a: &[f32],
    stride: usize,
    rows: usize,
    w: &PanelsF32<'_>,
    out: &mut [f32],
    ld: usize,
    finish: Finish,
) {
    let (n, k) = (w.bias.len(), w.k);
    assert!(rows > 0 && stride >= k && a.len() >= (rows - 1) * stride + k);
    assert!(n.is_multiple_of(LANES) && w.data.len() >= n * k);
    assert!(ld >= n && out.len() >= (rows - 1) * ld + n);
    let panels = n / LANES;
    let mut acc = MaybeUninit::<Tile<f32>>::uninit();
    let acc = acc.as_mut_ptr().cast::<f32>();
    let out = out.as_mut_ptr();
    // SAFETY: as in `linear_i8`.
    unsafe {
        let mut p = 0;
        while p < panels {
            let tile_panels = I::F32_PANELS.min(panels - p);
            let mut r = 0;
            while r < rows {
                let tile_rows = share(rows - r, I::F32_ROWS, true);
                let tile = TileF32 {
                    a: a.as_ptr().add(r * stride),
                    a_stride: stride,
                    b: w.data.as_ptr().add(p * LANES * k),
                    b_stride: LANES * k,
                    k,
                    rows: tile_rows,
                    panels: tile_panels,
                };
                I::tile_f32(tile, acc);
                let mut q = 0;
                while q < tile_panels {
                    let column = (p + q) * LANES;
                    let bias = I::L::load(w.bias.as_ptr().add(column));
                    let mut i = 0;
                    while i < tile_rows {
                        let x = I::L::load(acc.add((i * I::F32_PANELS + q) * LANES));
                        end::<I::L, false>(I::L::add(x, bias), out.add((r + i) * ld + column), finish);
                        i += 1;
                    }
                    q += 1;
                }
                r += tile_rows;
            }
            p += tile_panels;
        }
    }
}

/// Returns how many of the rows left the next tile takes: full tiles, the last two of even height.
#[inline(always)]
fn share(left: usize, most: usize, even: bool) -> usize {
    if !even || left <= most || left >= 2 * most { left.min(most) } else { left.div_ceil(2) }
}

/// Writes sixteen finished values. What comes from eight bits ends in eight bits, so its activation may be `COARSE`.
///
/// # Safety
///
/// As for `Lanes`.
#[inline(always)]
unsafe fn end<L: Lanes, const COARSE: bool>(x: L::V, to: *mut f32, finish: Finish) {
    // SAFETY: the caller's promise.
    unsafe {
        let x = match finish {
            Finish::Store => x,
            Finish::Activate(activation) if COARSE => activate_coarse::<L>(x, activation),
            Finish::Activate(activation) => activate::<L>(x, activation),
            Finish::Add => L::add(x, L::load(to)),
        };
        L::store(x, to);
    }
}
