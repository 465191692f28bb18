//! How far a long task has come: a callback, since nothing in this crate prints.

/// Hears how a download, a conversion or a digest advances.
pub trait Progress {
    /// A step begins: what is done, and how many bytes it has to get through if that is known.
    fn start(&mut self, what: &str, total_bytes: Option<u64>);
    /// This many more bytes of the step are done.
    fn advance(&mut self, bytes: u64);
    /// The step has ended, well or not.
    fn finish(&mut self);
}

/// Hears nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn start(&mut self, _what: &str, _total_bytes: Option<u64>) {}
    fn advance(&mut self, _bytes: u64) {}
    fn finish(&mut self) {}
}
