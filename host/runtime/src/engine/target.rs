//! The machines that components are compiled for.

/// A machine that machine code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeTarget {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl CodeTarget {
    /// Every target.
    const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Returns the target of this program, if packs are made for it.
    pub const fn of_this_program() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// Returns the target triple.
    pub const fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Parses a target triple.
    ///
    /// # Errors
    /// Names the known ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|target| target.triple() == text);
        found.ok_or_else(|| format!("must be {}", Self::ALL.map(Self::triple).join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_round_trips_as_triple() {
        for target in CodeTarget::ALL {
            assert_eq!(CodeTarget::parse(target.triple()), Ok(target));
        }
        assert!(CodeTarget::parse("wasm32-wasip2").is_err_and(|error| error.contains("aarch64-")));
    }
}
