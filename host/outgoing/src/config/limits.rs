//! What the outgoing requests of a slot may use.

use std::time::Duration;

use bulkhead_config::reader::Reader;

/// Enough for a page that asks several services, and few enough that a flood stays in one slot.
const CALLS: usize = 16;
/// A document or a picture, each way.
const BYTES: u64 = 16 << 20;
/// Across a continent, with a look-up and a handshake.
const CONNECT: Duration = Duration::from_secs(5);
/// Longer than most calls of a slot may take.
const FIRST_BYTE: Duration = Duration::from_secs(30);
/// A server that computes while it sends is silent for a while.
const BETWEEN_BYTES: Duration = Duration::from_secs(15);

/// What the outgoing requests of a slot may use. A guest may set shorter time-outs for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingLimits {
    /// Requests at once, until their response has ended.
    pub(crate) calls: usize,
    /// Most bytes of a request's body.
    pub(crate) request_bytes: u64,
    /// Most bytes of a response's body.
    pub(crate) response_bytes: u64,
    /// Longest wait for a free call, and then for look-up, connection and handshakes together.
    pub(crate) connect: Duration,
    /// Longest wait for the head of the response.
    pub(crate) first_byte: Duration,
    /// Longest pause of a response.
    pub(crate) between_bytes: Duration,
}

impl Default for OutgoingLimits {
    fn default() -> Self {
        Self {
            calls: CALLS,
            request_bytes: BYTES,
            response_bytes: BYTES,
            connect: CONNECT,
            first_byte: FIRST_BYTE,
            between_bytes: BETWEEN_BYTES,
        }
    }
}

impl OutgoingLimits {
    /// Reads the table `outgoing_limits` of a slot.
    pub fn read(reader: &mut Reader) -> Self {
        reader.table("outgoing_limits", |r| Self {
            calls: r.key("calls", "Outgoing requests at once; more wait").integer(1..=1024, CALLS),
            request_bytes: r
                .key("request_bytes", "Longest body of an outgoing request")
                .unit("bytes")
                .integer(0..=1 << 40, BYTES),
            response_bytes: r
                .key("response_bytes", "Longest body of a response to an outgoing request")
                .unit("bytes")
                .integer(0..=1 << 40, BYTES),
            connect: r
                .key("connect_ms", "Longest wait for a free call, and then for a connection")
                .millis(1..=600_000, CONNECT),
            first_byte: r
                .key("first_byte_ms", "Longest wait for the head of a response")
                .millis(1..=600_000, FIRST_BYTE),
            between_bytes: r
                .key("between_bytes_ms", "Longest pause of a response")
                .millis(1..=600_000, BETWEEN_BYTES),
        })
    }
}
