//! Writes vectors as the shortest decimals that read back as the same f32, or as base64 of their little-endian bytes.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_inference::{
    decimals::{self, NUMBER_BYTES},
    engine::Embedded,
};
use bulkhead_models::InferenceError;

/// The numbers up to which an async worker writes them: more would keep it from other requests.
const QUICK_NUMBERS: usize = 32 << 10;

/// Writes the text of vectors by `write`, of many outside of async workers. Returns it with the vectors.
///
/// # Errors
/// When `write` panics there.
pub async fn written(
    embedded: Embedded,
    write: impl FnOnce(&Embedded) -> Vec<u8> + Send + 'static,
) -> Result<(Embedded, Vec<u8>), InferenceError> {
    let is_quick = embedded.vectors.len() <= QUICK_NUMBERS;
    let write = move || {
        let text = write(&embedded);
        (embedded, text)
    };
    match is_quick {
        true => Ok(write()),
        false => tokio::task::spawn_blocking(write).await.map_err(|_| InferenceError::Internal),
    }
}

/// Returns a buffer for the text of vectors with so many numbers in total.
pub fn buffer(numbers: usize) -> Vec<u8> {
    Vec::with_capacity(numbers * NUMBER_BYTES + 1024)
}

/// Appends `[1.0,-0.25,...]`.
pub fn write_json(vector: &[f32], out: &mut Vec<u8>) {
    // NaN and infinity have no JSON form and become null; the engine rejects such vectors.
    decimals::write_array(vector, out);
}

/// Appends the vector as a JSON string of base64.
pub fn write_base64(vector: &[f32], out: &mut Vec<u8>) {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    out.push(b'"');
    out.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn decimals_read_back_as_same_numbers() {
        let vector =
            [0.0, -0.0, 1.0, -0.25, 0.1, f32::MIN_POSITIVE, f32::MAX, 1e-45, 16_777_216.0, 0.333_333_34];
        let mut text = Vec::new();
        write_json(&vector, &mut text);
        let read: Vec<f32> = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, vector);
        text.clear();
        write_json(&[], &mut text);
        assert_eq!(text, b"[]");
    }

    #[tokio::test]
    async fn many_numbers_leave_the_worker() {
        let here = std::thread::current().id();
        for (count, is_here) in [(QUICK_NUMBERS, true), (QUICK_NUMBERS + 1, false)] {
            let embedded = Embedded { vectors: vec![0.5; count], dims: 1, ..Embedded::default() };
            let write = move |embedded: &Embedded| {
                assert_eq!(std::thread::current().id() == here, is_here);
                let mut text = buffer(embedded.vectors.len());
                write_json(&embedded.vectors, &mut text);
                text
            };
            let (embedded, text) = written(embedded, write).await.unwrap();
            let read: Vec<f32> = serde_json::from_slice(&text).unwrap();
            assert_eq!(read, embedded.vectors);
        }
    }

    #[test]
    fn base64_holds_little_endian_bytes() {
        let mut text = Vec::new();
        write_base64(&[1.0, 2.0, 3.0, -1.0], &mut text);
        assert_eq!(text, br#""AACAPwAAAEAAAEBAAACAvw==""#);
        assert_eq!(text.len(), 24 + 2);
    }
}
