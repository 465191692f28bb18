//! Computing with a model: texts in, vectors out.

use super::{
    NnError, Outputs,
    tensor::{Inputs, Tensor},
};
use crate::inference::{Choice, Gate, ServedModel};

/// Everything that a model takes.
const INPUTS: [&str; 3] = ["text", "offsets", "prompt_name"];
/// What it gives.
const OUTPUT: &str = "embedding";

/// The vectors of the texts in `named`.
pub(super) async fn compute(
    gate: &Gate,
    model: &ServedModel,
    named: Vec<(String, Tensor)>,
) -> Result<Outputs, NnError> {
    let mut inputs = Inputs::new(named, &INPUTS)?;
    let offsets = inputs.take("offsets", |tensor| tensor.integers())?;
    let prompt_name = inputs.take("prompt_name", Tensor::text)?;
    let text = inputs.take("text", Tensor::text)?;
    let text = text.ok_or_else(|| NnError::invalid("input \"text\" is missing"))?;
    let texts = match offsets {
        None => vec![text],
        Some(offsets) => cut(&text, &offsets)?,
    };
    let embedded = gate.embed(model, texts, &Choice { prompt_name, ..Choice::default() }).await?;
    let rows = embedded.vectors.len() / embedded.dims.max(1);
    Ok(vec![(OUTPUT, Tensor::matrix(rows, embedded.dims, &embedded.vectors))])
}

/// The texts between `offsets`, which begin at 0, do not fall, and end where `text` ends.
fn cut(text: &str, offsets: &[i32]) -> Result<Vec<String>, NnError> {
    let invalid = |fault: String| NnError::invalid(format!("input \"offsets\" {fault}"));
    let places: Option<Vec<usize>> = offsets.iter().map(|offset| usize::try_from(*offset).ok()).collect();
    let places = places.ok_or_else(|| invalid("has a number below 0".to_owned()))?;
    if places.first() != Some(&0) || places.last() != Some(&text.len()) {
        return Err(invalid(format!("must begin with 0 and end with {}, the bytes of the text", text.len())));
    }
    let ranges = places.windows(2).enumerate();
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
    use super::*;

    fn texts(text: &str, offsets: &[i32]) -> Result<Vec<String>, String> {
        cut(text, offsets).map_err(|error| error.text)
    }

    #[test]
    fn texts_lie_between_offsets() {
        assert_eq!(texts("abc", &[0, 1, 3]), Ok(vec!["a".to_owned(), "bc".to_owned()]));
        assert_eq!(texts("abc", &[0, 0, 3]), Ok(vec![String::new(), "abc".to_owned()]));
        assert_eq!(texts("", &[0]), Ok(Vec::new()));
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
            let refused = texts("\u{e9}ab", &offsets);
            assert!(refused.as_ref().is_err_and(|text| text.contains(fault)), "{offsets:?}: {refused:?}");
        }
    }
}
