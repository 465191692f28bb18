//! Where a head's tensors come from.

/// Why a model's head cannot be read; the text names the tensor or the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HeadError(pub(crate) String);

/// The shape and the elements of a tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorValues {
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub values: Vec<f32>,
}

/// The tensors of a model by their names.
pub trait TensorSource {
    /// Returns a tensor; `None` if there is no such tensor, or its element type is not served.
    fn tensor(&self, name: &str) -> Option<TensorValues>;

    /// Returns whether there is a tensor of this name.
    fn has(&self, name: &str) -> bool;
}

/// Returns a tensor whose shape `fits`.
///
/// # Errors
///
/// When it is missing, has another shape, or values that are not finite.
pub(crate) fn read(
    tensors: &dyn TensorSource,
    name: &str,
    wanted: &str,
    fits: impl FnOnce(&[usize]) -> bool,
) -> Result<TensorValues, HeadError> {
    let missing =
        || HeadError(format!("tensor `{name}` is missing or has an element type that is not served"));
    let found = tensors.tensor(name).ok_or_else(missing)?;
    let count: usize = found.shape.iter().product();
    if !fits(&found.shape) || found.values.len() != count {
        return Err(HeadError(format!("tensor `{name}` has shape {:?}, not {wanted}", found.shape)));
    }
    match found.values.iter().all(|value| value.is_finite()) {
        true => Ok(found),
        false => Err(HeadError(format!("tensor `{name}` has values that are not finite"))),
    }
}

/// Returns the elements of a vector of `length`.
pub(crate) fn vector(tensors: &dyn TensorSource, name: &str, length: usize) -> Result<Vec<f32>, HeadError> {
    let found = read(tensors, name, &format!("[{length}]"), |shape| shape == [length])?;
    Ok(found.values)
}
