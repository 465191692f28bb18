//! Detection of the kernels that the processor and the operating system allow.

use super::Kernel;

/// Returns whether this process can run a kernel.
#[cfg(target_arch = "x86_64")]
pub(super) fn runs(kernel: Kernel) -> bool {
    let avx2 = || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = || {
        avx2()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
    };
    match kernel {
        Kernel::Amx => avx512() && amx::granted(),
        Kernel::Avx512Vnni => avx512(),
        Kernel::AvxVnni => avx2() && is_x86_feature_detected!("avxvnni"),
        Kernel::Avx2 => avx2(),
        Kernel::Neon => false,
        Kernel::Portable => true,
    }
}

/// Returns whether this process can run a kernel. NEON is part of the base of 64-bit ARM.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn runs(kernel: Kernel) -> bool {
    match kernel {
        Kernel::Neon => cfg!(target_arch = "aarch64"),
        Kernel::Portable => true,
        _ => false,
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use std::arch::x86_64::__cpuid_count;
    use std::sync::LazyLock;

    /// `arch_prctl` code that asks for an extended state component.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    /// The state component of tile data.
    const XFEATURE_XTILEDATA: libc::c_long = 18;

    /// The grant, asked for once: it holds for the process and for threads it starts later.
    static GRANTED: LazyLock<bool> = LazyLock::new(|| {
        // Leaf 7, EDX: bit 24 AMX-TILE, bit 25 AMX-INT8.
        let features = __cpuid_count(7, 0).edx;
        if features & (1 << 24) == 0 || features & (1 << 25) == 0 {
            return false;
        }
        // SAFETY: asks for a permission; fails with an error number where there is no such call.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
        answer == 0
    });

    pub(super) fn granted() -> bool {
        *GRANTED
    }
}

#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
mod amx {
    /// Returns false: only Linux is known to grant the tile state by a call.
    pub(super) fn granted() -> bool {
        false
    }
}
