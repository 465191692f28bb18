//! Computing with a linear head: vectors in, probabilities out.

use std::sync::Arc;

use bulkhead_inference::head::Csr;

use super::{
    NnError, Outputs,
    tensor::{Inputs, Tensor},
};
use crate::{Gate, NamedHead};

/// Everything that a head takes.
const INPUTS: [&str; 4] = ["embedding", "indices", "values", "offsets"];

/// Sparse features as they were handed over.
struct Features {
    indices: Vec<u32>,
    values: Vec<f32>,
    offsets: Vec<usize>,
}

/// The probabilities of each row in `named`, and the labels that they belong to.
pub(super) async fn compute(
    gate: &Gate,
    head: &Arc<NamedHead>,
    named: Vec<(String, Tensor)>,
) -> Result<Outputs, NnError> {
    let mut inputs = Inputs::new(named, &INPUTS)?;
    let embedding = inputs.take("embedding", |tensor| tensor.float_matrix())?;
    let ([rows, dims], embedding) =
        embedding.ok_or_else(|| NnError::invalid("input \"embedding\" is missing"))?;
    let record = head.head.record();
    if dims != record.dims {
        let text = format!("input \"embedding\" has rows of {dims} numbers, the head takes {}", record.dims);
        return Err(NnError::invalid(text));
    }
    if rows == 0 || rows > gate.max_batch_size() {
        let text = format!("input \"embedding\" must have 1 to {} rows, not {rows}", gate.max_batch_size());
        return Err(NnError::invalid(text));
    }
    let (features, labels) = (features(&mut inputs)?, head.head.labels().len());
    let names = head.head.labels().collect::<Vec<_>>().join("\n");
    let head = Arc::clone(head);
    // A large head is milliseconds of work, which no async worker should do.
    let predict = gate.compute(move || {
        let sparse = features.as_ref();
        let sparse = sparse.map(|Features { indices, values, offsets }| Csr { indices, values, offsets });
        head.head.predict(&embedding, sparse)
    });
    let probabilities = predict.await?.map_err(|error| NnError::invalid(error.to_string()))?;
    Ok(vec![
        ("probabilities".to_owned(), Tensor::matrix(rows, labels, &probabilities)),
        ("labels".to_owned(), Tensor::utf8(names)),
    ])
}

/// All three parts, or none.
fn features(inputs: &mut Inputs) -> Result<Option<Features>, NnError> {
    let indices = inputs.take("indices", |tensor| tensor.counts())?;
    let values = inputs.take("values", |tensor| tensor.floats())?;
    let offsets = inputs.take("offsets", |tensor| tensor.counts())?;
    match (indices, values, offsets) {
        (None, None, None) => Ok(None),
        (Some(indices), Some(values), Some(offsets)) => {
            let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
            Ok(Some(Features { indices, values, offsets }))
        }
        _ => Err(NnError::invalid(
            "inputs \"indices\", \"values\" and \"offsets\" come together or not at all",
        )),
    }
}
