//! Progress of a long task: a callback, since nothing in this crate prints.

/// Observes the progress of a download, a conversion or a digest.
pub trait Progress {
    /// Starts a step: what is done, and how many bytes it has to get through if that is known.
    fn start(&mut self, what: &str, total_bytes: Option<u64>);
    /// Reports that this many more bytes of the step are done.
    fn advance(&mut self, bytes: u64);
    /// Ends the step, well or not.
    fn finish(&mut self);
}

/// Ignores all progress.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn start(&mut self, _what: &str, _total_bytes: Option<u64>) {}
    fn advance(&mut self, _bytes: u64) {}
    fn finish(&mut self) {}
}
