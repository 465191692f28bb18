//! Added tokens (`[CLS]`, `<mask>`): where one stands in a text, the compact forms leave the text to the reference.

/// Strings to be found in a text.
pub(super) struct Added {
    patterns: Vec<Vec<u8>>,
    /// Their first bytes, each once.
    firsts: Vec<u8>,
}

impl Added {
    pub(super) fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        let patterns: Vec<Vec<u8>> =
            patterns.into_iter().map(String::into_bytes).filter(|pattern| !pattern.is_empty()).collect();
        let mut firsts: Vec<u8> = patterns.iter().filter_map(|pattern| pattern.first().copied()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self { patterns, firsts }
    }

    /// Whether any of them stands in the text.
    pub(super) fn occurs(&self, text: &[u8]) -> bool {
        let here = |at: usize| {
            let rest = text.get(at..).unwrap_or_default();
            self.patterns.iter().any(|pattern| rest.starts_with(pattern))
        };
        match *self.firsts.as_slice() {
            [] => false,
            [one] => memchr::memchr_iter(one, text).any(here),
            [one, two] => memchr::memchr2_iter(one, two, text).any(here),
            [one, two, three] => memchr::memchr3_iter(one, two, three, text).any(here),
            ref many => {
                (0..text.len()).any(|at| text.get(at).is_some_and(|byte| many.contains(byte)) && here(at))
            }
        }
    }
}
