//! How far an import has come.

/// Told of an import's course; from the task that imports, so it must not block.
pub trait Progress: Send + Sync {
    /// The state after each step.
    fn update(&self, state: State);

    /// Something of the source that stops no import and that whoever started it should know.
    fn notice(&self, _notice: &str) {}
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: State) {}
}

/// What an import has done and has to do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct State {
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
