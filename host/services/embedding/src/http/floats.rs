//! Writes vectors as the shortest decimals that read back as the same f32, or as base64 of their little-endian bytes.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_inference::decimals::{self, NUMBER_BYTES};

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

    #[test]
    fn base64_holds_little_endian_bytes() {
        let mut text = Vec::new();
        write_base64(&[1.0, 2.0, 3.0, -1.0], &mut text);
        assert_eq!(text, br#""AACAPwAAAEAAAEBAAACAvw==""#);
        assert_eq!(text.len(), 24 + 2);
    }
}
