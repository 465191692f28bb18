//! Progress of an import.

/// Observes the progress of an import, on the task that imports, so it must not block.
pub trait ImportObserver: Send + Sync {
    /// Receives the state after each step.
    fn update(&self, state: ImportProgress);

    /// Receives a notice about the source that does not stop the import and that the operator should know.
    fn notice(&self, _notice: &str) {}
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct IgnoreProgress;

impl ImportObserver for IgnoreProgress {
    fn update(&self, _: ImportProgress) {}
}

/// The progress of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ImportProgress {
    /// Documents read.
    pub documents: usize,
    /// Passages they are cut into.
    pub passages: usize,
    /// Passages that had no vector when the import began.
    pub missing: usize,
    /// Passages embedded since.
    pub embedded: usize,
    /// Passages embedded a second, over the whole import; 0 before the first.
    pub per_second: f64,
}
