//! Computes with an embedding model: texts in, vectors out.

use std::sync::Arc;

use bulkhead_inference::{
    engine::{Embedded, Input},
    model::{ModelOutput, ModelTask},
};

use super::{NnError, NnTensor, Outputs, tensor::NamedInputs};
use crate::{EmbedParameters, ServedModel, SlotModelAccess};

/// The inputs of a model.
const INPUTS: [&str; 5] = ["text", "offsets", "prompt_name", "input_ids", "attention_mask"];
/// The inputs of a classifier.
const CLASSIFIER_INPUTS: [&str; 3] = ["text", "offsets", "query"];
/// The output of a model.
const OUTPUT: &str = "embedding";

/// Embeds the texts or token ids of the inputs.
pub(super) async fn compute(
    access: &SlotModelAccess,
    model: &ServedModel,
    named: Vec<(String, NnTensor)>,
) -> Result<Outputs, NnError> {
    if model.model.task() == ModelTask::Classify {
        return classify(access, model, named).await;
    }
    let mut inputs = NamedInputs::new(named, &INPUTS)?;
    let ids = inputs.take("input_ids", |tensor| tensor.long_matrix())?;
    let mask = inputs.take("attention_mask", |tensor| tensor.long_matrix())?;
    if ids.is_some() || mask.is_some() {
        inputs.reject_remaining("`input_ids` and `attention_mask`")?;
        let ids = ids.ok_or_else(|| NnError::invalid("input \"input_ids\" is missing"))?;
        let mask = mask.ok_or_else(|| NnError::invalid("input \"attention_mask\" is missing"))?;
        return Ok(output(&access.embed_ids(model, unpadded(ids, mask)?).await?));
    }
    let prompt_name = inputs.take("prompt_name", NnTensor::text)?;
    let texts = texts(&mut inputs)?;
    let embedded =
        access.embed(model, texts, &EmbedParameters { prompt_name, ..EmbedParameters::default() }).await?;
    Ok(output(&embedded))
}

/// Returns the scores of the texts of the inputs, each with the query if there is one, and the names of the labels.
async fn classify(
    access: &SlotModelAccess,
    model: &ServedModel,
    named: Vec<(String, NnTensor)>,
) -> Result<Outputs, NnError> {
    let mut inputs = NamedInputs::new(named, &CLASSIFIER_INPUTS)?;
    let query = inputs.take("query", NnTensor::text)?.map(Arc::<str>::from);
    let input = |text: String| match &query {
        Some(query) => Input::Pair(Arc::clone(query), text),
        None => Input::Text(text),
    };
    let texts = texts(&mut inputs)?.into_iter().map(input).collect();
    let parameters = EmbedParameters { output: ModelOutput::Scores, ..EmbedParameters::default() };
    let embedded = access.run_inputs(model, texts, &parameters).await?;
    let (labels, scores) = (model.classifier()?.labels(), model.scores(&embedded, false)?);
    Ok(vec![
        ("scores".to_owned(), NnTensor::matrix(scores.len(), labels.len(), &scores.concat())),
        ("labels".to_owned(), NnTensor::utf8(labels.join("\n"))),
    ])
}

/// Takes the texts of the inputs.
fn texts(inputs: &mut NamedInputs) -> Result<Vec<String>, NnError> {
    let offsets = inputs.take("offsets", |tensor| tensor.integers())?;
    let text = inputs.take("text", NnTensor::text)?;
    let text = text.ok_or_else(|| NnError::invalid("input \"text\" is missing"))?;
    match offsets {
        None => Ok(vec![text]),
        Some(offsets) => split_at_offsets(&text, &offsets),
    }
}

/// Returns the vectors as an output tensor.
fn output(embedded: &Embedded) -> Outputs {
    let rows = embedded.vectors.len() / embedded.dims.max(1);
    vec![(OUTPUT.to_owned(), NnTensor::matrix(rows, embedded.dims, &embedded.vectors))]
}

/// Returns the ids of each row where the mask is 1.
fn unpadded(
    (shape, ids): ([usize; 2], Vec<i64>),
    (mask_shape, mask): ([usize; 2], Vec<i64>),
) -> Result<Vec<Vec<u32>>, NnError> {
    let invalid = |name: &str, fault: &str| NnError::invalid(format!("input {name:?} {fault}"));
    if shape != mask_shape {
        return Err(invalid(
            "attention_mask",
            &format!("must have dimensions {shape:?}, not {mask_shape:?}"),
        ));
    }
    if mask.iter().any(|one| !matches!(one, 0 | 1)) {
        return Err(invalid("attention_mask", "must be of zeros and ones"));
    }
    let [rows, columns] = shape;
    let mut texts = vec![Vec::new(); if columns == 0 { 0 } else { rows }];
    for (position, (id, mask)) in ids.iter().zip(&mask).enumerate() {
        let Some(text) = texts.get_mut(position / columns) else { break };
        if *mask == 1 {
            let id = u32::try_from(*id);
            text.push(
                id.map_err(|_| invalid("input_ids", &format!("has no token id at position {position}")))?,
            );
        }
    }
    Ok(texts)
}

/// Splits `text` at `offsets`, which begin at 0, do not decrease, and end with the length of `text`.
fn split_at_offsets(text: &str, offsets: &[i32]) -> Result<Vec<String>, NnError> {
    let invalid = |fault: String| NnError::invalid(format!("input \"offsets\" {fault}"));
    let positions: Option<Vec<usize>> = offsets.iter().map(|offset| usize::try_from(*offset).ok()).collect();
    let positions = positions.ok_or_else(|| invalid("has a number below 0".to_owned()))?;
    if positions.first() != Some(&0) || positions.last() != Some(&text.len()) {
        return Err(invalid(format!("must begin with 0 and end with {}, the bytes of the text", text.len())));
    }
    let ranges = positions.windows(2).enumerate();
    let texts = ranges.map(|(index, range)| {
        let piece = match *range {
            [start, end] if start <= end => text.get(start..end),
            _ => None,
        };
        let fault = || invalid(format!("must not fall, nor divide a character: see text {index}"));
        piece.map(str::to_owned).ok_or_else(fault)
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use bulkhead_steps::{Shape, assert_linear};

    use super::*;

    fn split(text: &str, offsets: &[i32]) -> Result<Vec<String>, String> {
        split_at_offsets(text, offsets).map_err(|error| error.text)
    }

    #[test]
    fn texts_are_split_at_offsets() {
        assert_eq!(split("abc", &[0, 1, 3]), Ok(vec!["a".to_owned(), "bc".to_owned()]));
        assert_eq!(split("abc", &[0, 0, 3]), Ok(vec![String::new(), "abc".to_owned()]));
        assert_eq!(split("", &[0]), Ok(Vec::new()));
    }

    #[test]
    fn padding_is_dropped() {
        let rows = unpadded(([2, 3], vec![1, 2, 3, 4, 0, 0]), ([2, 3], vec![1, 1, 1, 1, 0, 0]));
        assert_eq!(rows, Ok(vec![vec![1, 2, 3], vec![4]]));
        assert_eq!(unpadded(([5, 0], vec![]), ([5, 0], vec![])), Ok(vec![]));
        for (ids, mask, fault) in [
            (([1, 1], vec![1]), ([1, 2], vec![1, 1]), "must have dimensions [1, 1], not [1, 2]"),
            (([1, 1], vec![1]), ([1, 1], vec![2]), "zeros and ones"),
            (([1, 1], vec![-1]), ([1, 1], vec![1]), "no token id at position 0"),
            (([1, 1], vec![1 << 40]), ([1, 1], vec![1]), "no token id at position 0"),
        ] {
            let refused = unpadded(ids, mask);
            assert!(refused.as_ref().is_err_and(|error| error.text.contains(fault)), "{fault}: {refused:?}");
        }
    }

    #[test]
    fn offsets_are_checked() {
        for (offsets, fault) in [
            (vec![], "must begin with 0 and end with 4"),
            (vec![1, 4], "must begin with 0"),
            (vec![0, 3], "end with 4"),
            (vec![0, 9, 4], "must not fall"),
            (vec![0, 3, 2, 4], "must not fall"),
            (vec![0, 1, 4], "divide a character: see text 0"),
            (vec![0, -1, 4], "below 0"),
        ] {
            let refused = split("\u{e9}ab", &offsets);
            assert!(refused.as_ref().is_err_and(|text| text.contains(fault)), "{offsets:?}: {refused:?}");
        }
    }

    #[test]
    fn text_steps_grow_with_offsets() {
        let end = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
        let shapes: [Shape<'_, (String, Vec<i32>)>; 3] = [
            ("letters", &|bytes| ("a".repeat(bytes), (0..=end(bytes)).collect())),
            ("empty texts", &|bytes| ("a".into(), [vec![0; bytes / 4], vec![1]].concat())),
            ("one text", &|bytes| ("\u{e9}".repeat(bytes / 2), vec![0, end(bytes / 2 * 2)])),
        ];
        let test = concat!(module_path!(), "::text_steps_grow_with_offsets");
        assert_linear(test, 1 << 20, &shapes, |(text, offsets)| split_at_offsets(text, offsets).is_ok());
    }

    #[test]
    fn token_steps_grow_with_a_matrix() {
        let shapes: [Shape<'_, [usize; 2]>; 3] = [
            ("one row", &|bytes| [1, bytes / 8]),
            ("one column", &|bytes| [bytes / 8, 1]),
            ("no column", &|bytes| [bytes, 0]),
        ];
        let test = concat!(module_path!(), "::token_steps_grow_with_a_matrix");
        assert_linear(test, 1 << 20, &shapes, |shape| {
            let ones = vec![1; shape[0] * shape[1]];
            unpadded((*shape, ones.clone()), (*shape, ones)).is_ok()
        });
    }
}
