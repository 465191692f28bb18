//! The check that a caller's bytes are a tensor of the stated shape.

/// Most dimensions of a tensor.
pub const MOST_DIMENSIONS: usize = 4;

/// Why bytes are not the stated tensor; the text follows the tensor's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// No tensor has so many dimensions.
    #[error("has {0} dimensions, the limit is {MOST_DIMENSIONS}")]
    Dimensions(usize),
    /// Another length than the shape's.
    #[error(
        "has dimensions {dimensions:?} of {element_bytes} bytes an element, which are not its {bytes} bytes"
    )]
    Bytes {
        /// The shape.
        dimensions: Vec<u32>,
        /// Bytes of an element.
        element_bytes: usize,
        /// Bytes given.
        bytes: usize,
    },
    /// Another number of dimensions than wanted.
    #[error("must have {wanted} dimensions, not {found}")]
    Wanted {
        /// How many it should have.
        wanted: usize,
        /// How many it has.
        found: usize,
    },
}

/// Returns the sizes of a tensor's dimensions, once their product times the bytes of an element is the number of
/// bytes.
///
/// # Errors
///
/// When there are too many, or they do not fit one another.
pub fn sizes(dimensions: &[u32], element_bytes: usize, bytes: usize) -> Result<Vec<usize>, ShapeError> {
    if dimensions.len() > MOST_DIMENSIONS {
        return Err(ShapeError::Dimensions(dimensions.len()));
    }
    let sizes: Option<Vec<usize>> = dimensions.iter().map(|size| usize::try_from(*size).ok()).collect();
    let product = |sizes: &Vec<usize>| match sizes.contains(&0) {
        // However large the others are.
        true => Some(0),
        false => sizes.iter().try_fold(element_bytes, |product: usize, size| product.checked_mul(*size)),
    };
    let fits = sizes.filter(|sizes| product(sizes) == Some(bytes));
    fits.ok_or_else(|| ShapeError::Bytes { dimensions: dimensions.to_vec(), element_bytes, bytes })
}

/// Returns the sizes of a tensor of `N` dimensions.
///
/// # Errors
///
/// When they are not so many, or do not fit one another.
pub fn shape<const N: usize>(
    dimensions: &[u32],
    element_bytes: usize,
    bytes: usize,
) -> Result<[usize; N], ShapeError> {
    let sizes = sizes(dimensions, element_bytes, bytes)?;
    <[usize; N]>::try_from(sizes).map_err(|sizes| ShapeError::Wanted { wanted: N, found: sizes.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_and_bytes_must_agree() {
        assert_eq!(shape(&[2, 3], 4, 24), Ok([2, 3]));
        assert_eq!(shape(&[0, u32::MAX], 8, 0), Ok([0, u32::MAX as usize]));
        assert_eq!(shape(&[], 1, 1), Ok([]));
        assert!(shape::<4>(&[1 << 31, 1 << 31, 1 << 31, 0], 1, 0).is_ok());
        let refused =
            |dimensions: &[u32], bytes| shape::<1>(dimensions, 4, bytes).map_err(|fault| fault.to_string());
        let bytes = "has dimensions [3] of 4 bytes an element, which are not its 11 bytes";
        assert_eq!(refused(&[3], 11), Err(bytes.to_owned()));
        assert_eq!(refused(&[1; 5], 4), Err("has 5 dimensions, the limit is 4".to_owned()));
        assert_eq!(refused(&[1, 1], 4), Err("must have 1 dimensions, not 2".to_owned()));
        // A product beyond the address space is not a match for any length.
        assert!(shape::<4>(&[u32::MAX; 4], 8, 0).is_err());
        assert!(shape::<3>(&[1 << 31, 1 << 31, 4], 1, 0).is_err());
    }
}
