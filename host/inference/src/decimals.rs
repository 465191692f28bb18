//! Vectors as JSON: the shortest decimals that read back as the same f32.

use bulkhead_kernels::decimals::{BLOCK, Texts, write};

/// Longest text of an f32 with its comma, bytes: the reserve for each number of a vector's text.
pub const NUMBER_BYTES: usize = 16;

/// Appends `[1.0,-0.25,...]`. A NaN or infinity becomes `null`, as JSON has no text for it.
pub fn write_array(vector: &[f32], out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + 1 + vector.len() * NUMBER_BYTES + 1, b'[');
    let Some((_, mut rest)) = out.get_mut(begin..).and_then(<[u8]>::split_first_mut) else { return };
    let room = rest.len();
    let mut texts = Texts::default();
    for numbers in vector.chunks(BLOCK) {
        let mut block = [0.0; BLOCK];
        block.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
        write(&block, &mut texts);
        let [first, last] = &texts.bytes;
        for (((number, first), last), length) in numbers.iter().zip(first).zip(last).zip(&texts.lengths) {
            let text = (u128::from(*last) << 64 | u128::from(*first)).to_le_bytes();
            let length = match *length as usize {
                0 => other(*number, rest),
                length => {
                    if let Some(place) = rest.first_chunk_mut() {
                        *place = text;
                    }
                    length
                }
            };
            if let Some(comma) = rest.get_mut(length) {
                *comma = b',';
            }
            rest = rest.get_mut(length + 1..).unwrap_or_default();
        }
    }
    let written = room - rest.len();
    // The last comma becomes the bracket.
    let end = begin + 1 + written.saturating_sub(1);
    out.truncate(end);
    out.push(b']');
}

/// Writes a number that is not written with others, and returns the length of its text.
#[cold]
fn other(number: f32, place: &mut [u8]) -> usize {
    let mut buffer = zmij::Buffer::new();
    let text = if number.is_finite() { buffer.format_finite(number) } else { "null" };
    place.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::excessive_precision)]

    use super::*;

    fn text(vector: &[f32]) -> String {
        let mut out = b"x".to_vec();
        write_array(vector, &mut out);
        String::from_utf8(out).unwrap().strip_prefix('x').unwrap().to_owned()
    }

    #[test]
    fn vectors_of_any_length_read_back() {
        let vector: Vec<f32> = (1..=40_u8).map(|place| f32::from(place).sin() / 3.0).collect();
        for length in 0..=vector.len() {
            let read: Vec<f32> = serde_json::from_str(&text(&vector[..length])).unwrap();
            assert_eq!(read, vector[..length]);
        }
    }

    #[test]
    fn each_number_has_its_text() {
        assert_eq!(text(&[]), "[]");
        assert_eq!(text(&[0.1, -0.25, 0.033_333_335]), "[0.1,-0.25,0.033333335]");
        assert_eq!(text(&[0.0, -0.0, 1.0, -7.5, 16_777_216.0]), "[0.0,-0.0,1.0,-7.5,16777216.0]");
        assert_eq!(text(&[f32::NAN, 0.3, f32::NEG_INFINITY]), "[null,0.3,null]");
    }

    #[test]
    fn the_longest_texts_have_room() {
        let longest = [-f32::MIN_POSITIVE, -1.000_000_2e-38, -0.000_015_258_791, -0.062_500_01, f32::MIN];
        let vector: Vec<f32> = longest.into_iter().cycle().take(50).collect();
        let read: Vec<f32> = serde_json::from_str(&text(&vector)).unwrap();
        assert_eq!(read, vector);
    }
}
