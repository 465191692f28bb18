//! What the figures of the benchmarks should be.

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Target {
    /// Returns whether a figure is as it should be, if it should be anything.
    pub fn is_met(self, figure: f64) -> Option<bool> {
        match self {
            Self::AtLeast(least) => Some(figure >= least),
            Self::AtMost(most) => Some(figure <= most),
            Self::None => None,
        }
    }

    /// Returns whether a figure is better when it is smaller, if the target says it.
    pub fn is_less_better(self) -> Option<bool> {
        match self {
            Self::AtLeast(_) => Some(false),
            Self::AtMost(_) => Some(true),
            Self::None => None,
        }
    }

    /// Returns the target with so many digits after the point.
    pub fn text(self, digits: usize) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {least:.digits$}"),
            Self::AtMost(most) => format!("<= {most:.digits$}"),
            Self::None => String::new(),
        }
    }
}
