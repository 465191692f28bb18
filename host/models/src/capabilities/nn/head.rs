//! Computes with a linear head: vectors in, probabilities out.

use std::sync::Arc;

use bulkhead_inference::head::Csr;

use super::{NnError, NnTensor, Outputs, tensor::NamedInputs};
use crate::{NamedHead, SlotModelAccess};

/// The inputs of a head.
const INPUTS: [&str; 4] = ["embedding", "indices", "values", "offsets"];
/// Multiplications that do not change threads: they take about a tenth of a millisecond.
const QUICK: usize = 1 << 17;

/// Sparse features of the rows, in the CSR format.
struct SparseFeatures {
    indices: Vec<u32>,
    values: Vec<f32>,
    offsets: Vec<usize>,
}

/// Returns the probabilities of each row of the inputs, and their labels.
pub(super) async fn compute(
    access: &SlotModelAccess,
    head: &Arc<NamedHead>,
    named: Vec<(String, NnTensor)>,
) -> Result<Outputs, NnError> {
    let mut inputs = NamedInputs::new(named, &INPUTS)?;
    let embedding = inputs.take("embedding", |tensor| tensor.float_matrix())?;
    let ([rows, dims], embedding) =
        embedding.ok_or_else(|| NnError::invalid("input \"embedding\" is missing"))?;
    let record = head.head.record();
    if dims != record.dims {
        let text = format!("input \"embedding\" has rows of {dims} numbers, the head takes {}", record.dims);
        return Err(NnError::invalid(text));
    }
    if rows == 0 || rows > access.max_batch_size() {
        let text = format!("input \"embedding\" must have 1 to {} rows, not {rows}", access.max_batch_size());
        return Err(NnError::invalid(text));
    }
    let (features, labels) = (features(&mut inputs)?, head.head.labels().len());
    let names = head.head.labels().collect::<Vec<_>>().join("\n");
    let head = Arc::clone(head);
    // A large head takes milliseconds, which would block an async worker; one text takes less than a hand-over.
    let given = features.as_ref().map_or(0, |features| features.values.len());
    let is_quick = head.head.multiplications(rows, given) <= QUICK;
    let predict = access.compute(is_quick, move || {
        let sparse = features.as_ref();
        let sparse =
            sparse.map(|SparseFeatures { indices, values, offsets }| Csr { indices, values, offsets });
        head.head.predict(&embedding, sparse)
    });
    let probabilities = predict.await?.map_err(|error| NnError::invalid(error.to_string()))?;
    Ok(vec![
        ("probabilities".to_owned(), NnTensor::matrix(rows, labels, &probabilities)),
        ("labels".to_owned(), NnTensor::utf8(names)),
    ])
}

/// Takes the three parts of sparse features, which come together or not at all.
fn features(inputs: &mut NamedInputs) -> Result<Option<SparseFeatures>, NnError> {
    let indices = inputs.take("indices", |tensor| tensor.counts())?;
    let values = inputs.take("values", |tensor| tensor.floats())?;
    let offsets = inputs.take("offsets", |tensor| tensor.counts())?;
    match (indices, values, offsets) {
        (None, None, None) => Ok(None),
        (Some(indices), Some(values), Some(offsets)) => {
            let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
            Ok(Some(SparseFeatures { indices, values, offsets }))
        }
        _ => Err(NnError::invalid(
            "inputs \"indices\", \"values\" and \"offsets\" come together or not at all",
        )),
    }
}
