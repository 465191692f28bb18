//! Counts connections and their faults.

/// A fault of a connection outside a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// The operating system refused to accept, mostly because file descriptors ran out.
    Accept,
    /// The TLS handshake failed or took too long.
    Handshake,
    /// No whole request head arrived in time, or an answer was not taken.
    Timeout,
    /// The request head was not HTTP; answered with 400.
    Malformed,
    /// The request head was too large; answered with 431.
    TooLarge,
    /// The client went away, or broke the protocol, in the middle.
    Broken,
    /// Closed without an answer: the client's address had reached its share of the connections.
    Share,
    /// Closed to make room for another: idle, or waiting for its client for long.
    Evicted,
}

impl ConnectionFault {
    /// Every fault.
    pub const ALL: [Self; 8] = [
        Self::Accept,
        Self::Handshake,
        Self::Timeout,
        Self::Malformed,
        Self::TooLarge,
        Self::Broken,
        Self::Share,
        Self::Evicted,
    ];

    /// Returns the label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Handshake => "handshake",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::Broken => "broken",
            Self::Share => "share",
            Self::Evicted => "gave-way",
        }
    }
}

/// Counts connections. `()` counts nothing.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// Records that a connection was accepted.
    fn opened(&self) {}
    /// Records that a connection is closed; called once for each opened one.
    fn closed(&self) {}
    /// Records a fault outside a request.
    fn fault(&self, _fault: ConnectionFault) {}
}

impl ConnectionObserver for () {}
