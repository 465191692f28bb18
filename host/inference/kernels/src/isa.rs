//! The traits of an instruction set: sixteen lanes of f32, and the inner tile of a matrix product.
//!
//! The functions are unsafe because they use instructions that the processor must have, and raw pointers; they
//! are inlined into functions of `operations` that enable the features, and only `Kernel::operations` hands
//! those out, after asking the processor.
#![allow(unsafe_code)]

/// Lanes of a vector, and output channels of a panel.
pub const LANES: usize = 16;
/// Most vectors of sixteen that a tile holds, over all instruction sets.
pub(super) const TILE_VECTORS: usize = 64;

/// A tile's accumulators: `[rows][panels][16]` at a stride of the instruction set's full panel count.
#[repr(C, align(64))]
pub(super) struct Tile<T>(pub(super) [T; TILE_VECTORS * LANES]);

/// Operands of one int8 tile: `acc[r][p][c] = sum over k of a[r][k] * b[p][k][c]`.
#[derive(Clone, Copy)]
pub(super) struct TileI8 {
    /// Row 0 of the activations, unsigned bytes.
    pub(super) a: *const u8,
    /// Bytes from row to row.
    pub(super) a_stride: usize,
    /// Panel 0 of the weights: `[k / 4][16][4]` signed bytes.
    pub(super) b: *const i8,
    /// Bytes from panel to panel.
    pub(super) b_stride: usize,
    /// Inner length, padded; a multiple of 4, and of 64 if over 64.
    pub(super) k: usize,
    /// Rows, 1 to `I8_ROWS`.
    pub(super) rows: usize,
    /// Panels, 1 to `I8_PANELS`.
    pub(super) panels: usize,
}

/// Operands of one f32 tile, as of an int8 one; panels are `[k][16]`.
#[derive(Clone, Copy)]
pub(super) struct TileF32 {
    pub(super) a: *const f32,
    /// Elements from row to row.
    pub(super) a_stride: usize,
    pub(super) b: *const f32,
    /// Elements from panel to panel.
    pub(super) b_stride: usize,
    pub(super) k: usize,
    pub(super) rows: usize,
    pub(super) panels: usize,
}

/// Sixteen f32 at once.
///
/// # Safety
///
/// All functions: the processor has the features, and pointers are good for the lanes they name.
pub(super) trait Lanes {
    /// The sixteen lanes.
    type V: Copy;

    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(x: Self::V, to: *mut f32);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// Returns `a * b + c`, rounded once; the portable kernel rounds the product, too.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// Rounds to the nearest integer, for |x| below 2^22.
    unsafe fn round(x: Self::V) -> Self::V;
    /// Keeps the first `count` lanes, 1 to 16, and puts `fill` in the others.
    unsafe fn keep(x: Self::V, count: usize, fill: f32) -> Self::V;
    /// Returns `x * 2^n` for integral n in -126 to 127.
    unsafe fn scale2(x: Self::V, n: Self::V) -> Self::V;
    unsafe fn from_i32(from: *const i32) -> Self::V;
    /// Writes sixteen bytes: nearest integers, clamped to 0..=255.
    unsafe fn to_u8(x: Self::V, to: *mut u8);
    /// Writes sixteen signed bytes: nearest integers of values in -127..=127.
    unsafe fn to_i8(x: Self::V, to: *mut i8);
    /// Writes `[16][4]` signed bytes: lane l of the four vectors side by side; as `to_i8`.
    unsafe fn quads(x: [Self::V; 4], to: *mut i8);
    /// Adds the halves of the lanes, the halves of the result, and so on: in one order for all, as the order decides how
    /// the sum is rounded.
    unsafe fn sum(x: Self::V) -> f32;
    unsafe fn highest(x: Self::V) -> f32;
    unsafe fn lowest(x: Self::V) -> f32;
    /// Writes `to[c][r] = from[r][c]` for a square of sixteen, `stride` elements from row to row of `from`; rows from
    /// `rows` on count as zero.
    unsafe fn transpose(from: *const f32, stride: usize, rows: usize, to: *mut f32);
}

/// The tiles of a matrix product. Safety as for `Lanes`.
pub(super) trait Isa {
    /// Its vectors.
    type L: Lanes;
    /// Rows and panels of a full int8 tile.
    const I8_ROWS: usize;
    const I8_PANELS: usize;
    /// Rows and panels of a full f32 tile.
    const F32_ROWS: usize;
    const F32_PANELS: usize;
    /// Whether a tile's cost falls with its rows, so that remainders are better shared out evenly.
    const EVEN_ROWS: bool = true;

    /// Prepares for the int8 tiles of one product with inner length `k`.
    unsafe fn enter(_k: usize) {}
    /// Cleans up after the int8 tiles.
    unsafe fn leave() {}
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32);
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32);
}
