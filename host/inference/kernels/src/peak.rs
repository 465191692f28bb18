//! Measurement of the machine's peak for benchmarks: loops of a kernel's multiplications in registers.
#![allow(unsafe_code, clippy::indexing_slicing)]

use super::Kernel;

/// Measures billions of operations (a multiplication or an addition each) on eight-bit numbers a second of one
/// thread; `None` where no loop is written or the processor does not run the kernel.
#[must_use]
pub fn int8(kernel: Kernel) -> Option<f64> {
    kernel.operations()?;
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Amx => Some(x86::tiles()),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512Vnni => Some(x86::bytes_512()),
        #[cfg(target_arch = "x86_64")]
        Kernel::AvxVnni => Some(x86::bytes_256()),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => Some(x86::words_256()),
        _ => None,
    }
}

/// Does the same as [`int8`], on 32-bit floating point.
#[must_use]
pub fn float32(kernel: Kernel) -> Option<f64> {
    kernel.operations()?;
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Amx | Kernel::Avx512Vnni => Some(x86::floats_512()),
        #[cfg(target_arch = "x86_64")]
        Kernel::AvxVnni | Kernel::Avx2 => Some(x86::floats_256()),
        _ => None,
    }
}

/// Returns the best of 20 loops.
#[cfg(target_arch = "x86_64")]
fn best(operations: f64, run: impl Fn(u64)) -> f64 {
    const LOOPS: u64 = 40_000;
    let times = (0..20).map(|_| {
        let started = std::time::Instant::now();
        run(LOOPS);
        started.elapsed().as_secs_f64()
    });
    operations * LOOPS as f64 / times.fold(f64::INFINITY, f64::min) / 1e9
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    /// A loop of independent instructions, one a register; registers 14 and 15 are read. All begin as zero: chance
    /// numbers too small for their exponent would make a float loop a hundred times slower.
    macro_rules! register_loop {
        ($name:ident, $operations:expr, $before:literal, $after:literal, $($register:literal)*) => {
            /// Measures billions of operations a second.
            pub fn $name() -> f64 {
                let count = [$($register),*].len() as f64;
                super::best(count * $operations, |loops| {
                    // SAFETY: the kernel that asks runs on this processor; only registers change.
                    unsafe {
                        asm!("vzeroall", "2:", $(concat!($before, $register, $after),)* "dec {n}", "jnz 2b",
                            n = inout(reg) loops => _,
                            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                            out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                            out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _,
                            out("xmm15") _, options(nomem, nostack));
                    }
                })
            }
        };
    }

    register_loop!(bytes_512, 128.0, "vpdpbusd zmm", ", zmm14, zmm15", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11");
    register_loop!(floats_512, 32.0, "vfmadd231ps zmm", ", zmm14, zmm15", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11");
    register_loop!(bytes_256, 64.0, "{{vex}} vpdpbusd ymm", ", ymm14, ymm15", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11");
    register_loop!(floats_256, 16.0, "vfmadd231ps ymm", ", ymm14, ymm15", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11");
    // A product of words needs an addition too; the sums take turns with the products.
    register_loop!(words_256, 32.0, "vpmaddwd ymm13, ymm14, ymm15\n vpaddd ymm", ", ymm13, ymm14", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11");

    /// What `ldtilecfg` reads.
    #[repr(C, align(64))]
    struct TileConfig([u8; 64]);

    /// Measures billions of operations a second in AMX tiles.
    pub fn tiles() -> f64 {
        let mut config = TileConfig([0; 64]);
        config.0[0] = 1;
        for tile in 0..8 {
            config.0[16 + 2 * tile] = 64;
            config.0[48 + tile] = 16;
        }
        super::best(4.0 * 2.0 * 16.0 * 16.0 * 64.0, |loops| {
            // SAFETY: the AMX kernel runs here, so the process was granted the tiles.
            unsafe {
                asm!("ldtilecfg [{config}]", "2:", "tdpbusd tmm0, tmm4, tmm6", "tdpbusd tmm1, tmm4, tmm7",
                    "tdpbusd tmm2, tmm5, tmm6", "tdpbusd tmm3, tmm5, tmm7", "dec {n}", "jnz 2b", "tilerelease",
                    config = in(reg) &raw const config, n = inout(reg) loops => _,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _, options(nostack, readonly));
            }
        })
    }
}
