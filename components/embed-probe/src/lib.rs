//! An example component that embeds texts: packs texts into tensors for the host's graphs and reads vectors back.

#[cfg(target_family = "wasm")]
mod guest;

/// Texts as one byte string with offsets: `offsets` has one number more than there are texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The texts in UTF-8.
    pub bytes: Vec<u8>,
    /// The offsets as i32, little-endian.
    pub offsets: Vec<u8>,
    /// Number of offsets.
    pub count: u32,
}

impl Packed {
    /// Packs `texts`.
    pub fn new(texts: &[String]) -> Self {
        let mut packed = Self::default();
        packed.mark();
        for text in texts {
            packed.bytes.extend_from_slice(text.as_bytes());
            packed.mark();
        }
        packed
    }

    fn mark(&mut self) {
        let at = i32::try_from(self.bytes.len()).unwrap_or(i32::MAX);
        self.offsets.extend_from_slice(&at.to_le_bytes());
        self.count += 1;
    }
}

/// Reads little-endian f32 numbers as rows of `dims`.
pub fn rows(data: &[u8], dims: usize) -> Vec<Vec<f32>> {
    let numbers: Vec<f32> = data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    numbers.chunks_exact(dims.max(1)).map(<[f32]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lie_one_after_the_other() {
        let packed = Packed::new(&["ab".to_owned(), String::new(), "\u{e9}".to_owned()]);
        assert_eq!(packed.bytes, "ab\u{e9}".as_bytes());
        assert_eq!(packed.count, 4);
        let offsets: Vec<u8> = [0_i32, 2, 2, 4].into_iter().flat_map(i32::to_le_bytes).collect();
        assert_eq!(packed.offsets, offsets);
    }

    #[test]
    fn vectors_come_back_row_by_row() {
        let data: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
        assert_eq!(rows(&data, 2), [[1.0, 2.0], [3.0, 4.0]]);
        assert!(rows(&[], 2).is_empty());
    }
}
