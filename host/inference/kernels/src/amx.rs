//! AMX int8 tiles of 32 rows by 32 channels; all else is AVX-512's.
//!
//! The intrinsics are not stable in Rust, so the tile loop is assembly. Tile shapes (Intel's manual, volume 1,
//! chapter 18): an activation tile is 16 rows of 64 bytes, a weight tile 16 quads of the inner dimension by 16
//! channels of 4 bytes, which is the panels' own layout.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::arch::asm;

use super::avx512::Avx512;
use super::isa::LANES;
use super::isa::{Isa, TileF32, TileI8};
use super::operations::operations;

operations!(OPERATIONS, Amx, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]);

pub(super) struct Amx;

/// What `ldtilecfg` reads: palette, bytes a row and rows of each tile.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Rows of one hardware tile.
const TILE_ROWS: usize = 16;
/// Bytes of the inner dimension of one hardware tile.
const TILE_INNER: usize = 64;

impl Isa for Amx {
    type L = Avx512;
    const I8_ROWS: usize = 2 * TILE_ROWS;
    const I8_PANELS: usize = 2;
    const F32_ROWS: usize = Avx512::F32_ROWS;
    const F32_PANELS: usize = Avx512::F32_PANELS;
    const EVEN_ROWS: bool = false;

    #[inline(always)]
    unsafe fn enter(k: usize) {
        // Tiles 0 to 3 accumulate, 4 and 5 are activations, 6 and 7 weights.
        let inner = k.min(TILE_INNER);
        let mut config =
            TileConfig { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        for tile in 0..8 {
            config.row_bytes[tile] = if tile == 4 || tile == 5 { inner as u16 } else { 64 };
            config.rows[tile] = if tile < 6 { TILE_ROWS as u8 } else { (inner / 4) as u8 };
        }
        // SAFETY: the processor has AMX and the process was granted its state (`detect`); the configuration is
        // valid: inner is 4 to 64, a multiple of 4.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) }
    }

    #[inline(always)]
    unsafe fn leave() {
        // SAFETY: as above; a released tile state keeps context switches short.
        unsafe {
            asm!("tilerelease",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, nomem));
        }
    }

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        let low = tile.a;
        // SAFETY: activation buffers are padded to 32 rows, so both tiles may be read whole.
        unsafe {
            let high = low.add(TILE_ROWS * tile.a_stride);
            let next = tile.b.add(tile.b_stride);
            let steps = tile.k.div_ceil(TILE_INNER);
            match (tile.rows > TILE_ROWS, tile.panels > 1) {
                (true, true) => asm!(
                    "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{low} + {stride}]",
                    "tileloadd tmm6, [{b} + {line}]",
                    "tdpbusd tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{next} + {line}]",
                    "tdpbusd tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{high} + {stride}]",
                    "tdpbusd tmm2, tmm5, tmm6",
                    "tdpbusd tmm3, tmm5, tmm7",
                    "add {low}, 64", "add {high}, 64", "add {b}, 1024", "add {next}, 1024",
                    "dec {steps}", "jnz 2b",
                    "add {line}, 64",
                    "tilestored [{acc} + {line}], tmm0",
                    "tilestored [{acc} + {line} + 64], tmm1",
                    "tilestored [{acc} + {line} + 2048], tmm2",
                    "tilestored [{acc} + {line} + 2112], tmm3",
                    low = inout(reg) low => _, high = inout(reg) high => _, b = inout(reg) tile.b => _,
                    next = inout(reg) next => _, steps = inout(reg) steps => _,
                    stride = in(reg) tile.a_stride, line = inout(reg) 64_usize => _, acc = in(reg) acc,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                ),
                (false, true) => asm!(
                    "tilezero tmm0", "tilezero tmm1",
                    "2:",
                    "tileloadd tmm4, [{low} + {stride}]",
                    "tileloadd tmm6, [{b} + {line}]",
                    "tdpbusd tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{next} + {line}]",
                    "tdpbusd tmm1, tmm4, tmm7",
                    "add {low}, 64", "add {b}, 1024", "add {next}, 1024",
                    "dec {steps}", "jnz 2b",
                    "add {line}, 64",
                    "tilestored [{acc} + {line}], tmm0",
                    "tilestored [{acc} + {line} + 64], tmm1",
                    low = inout(reg) low => _, b = inout(reg) tile.b => _, next = inout(reg) next => _,
                    steps = inout(reg) steps => _, stride = in(reg) tile.a_stride,
                    line = inout(reg) 64_usize => _, acc = in(reg) acc,
                    out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                ),
                (true, false) => asm!(
                    "tilezero tmm0", "tilezero tmm2",
                    "2:",
                    "tileloadd tmm4, [{low} + {stride}]",
                    "tileloadd tmm6, [{b} + {line}]",
                    "tdpbusd tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{high} + {stride}]",
                    "tdpbusd tmm2, tmm5, tmm6",
                    "add {low}, 64", "add {high}, 64", "add {b}, 1024",
                    "dec {steps}", "jnz 2b",
                    "add {line}, 64",
                    "tilestored [{acc} + {line}], tmm0",
                    "tilestored [{acc} + {line} + 2048], tmm2",
                    low = inout(reg) low => _, high = inout(reg) high => _, b = inout(reg) tile.b => _,
                    steps = inout(reg) steps => _, stride = in(reg) tile.a_stride,
                    line = inout(reg) 64_usize => _, acc = in(reg) acc,
                    out("tmm0") _, out("tmm2") _, out("tmm4") _, out("tmm5") _, out("tmm6") _,
                    options(nostack)
                ),
                (false, false) => asm!(
                    "tilezero tmm0",
                    "2:",
                    "tileloadd tmm4, [{low} + {stride}]",
                    "tileloadd tmm6, [{b} + {line}]",
                    "tdpbusd tmm0, tmm4, tmm6",
                    "add {low}, 64", "add {b}, 1024",
                    "dec {steps}", "jnz 2b",
                    "add {line}, 64",
                    "tilestored [{acc} + {line}], tmm0",
                    low = inout(reg) low => _, b = inout(reg) tile.b => _, steps = inout(reg) steps => _,
                    stride = in(reg) tile.a_stride, line = inout(reg) 64_usize => _, acc = in(reg) acc,
                    out("tmm0") _, out("tmm4") _, out("tmm6") _,
                    options(nostack)
                ),
            }
        }
    }

    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        // SAFETY: the trait's promise.
        unsafe { Avx512::tile_f32(tile, acc) }
    }
}

/// A row of accumulators is two panels of sixteen i32, 128 bytes, which the assembly's offsets count on.
const _: () = assert!(Amx::I8_PANELS * LANES * size_of::<i32>() == 128);
