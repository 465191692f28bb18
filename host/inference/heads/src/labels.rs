//! The names of a classifier's labels.

use serde_json::Value;

use crate::source::HeadError;

/// Reads `id2label` of a model's configuration: a name for each of `count` labels; without it transformers' own names.
///
/// # Errors
///
/// When it names other labels than the classifier has.
pub(crate) fn read(config: &Value, count: usize) -> Result<Vec<String>, HeadError> {
    let named = match config.get("id2label") {
        None | Some(Value::Null) => return Ok((0..count).map(|id| format!("LABEL_{id}")).collect()),
        Some(Value::Object(named)) => named,
        Some(_) => return Err(HeadError("`id2label` is not an object".to_owned())),
    };
    if named.len() != count {
        return Err(HeadError(format!(
            "`id2label` names {} labels, the classifier has {count}",
            named.len()
        )));
    }
    let name = |id: usize| match named.get(&id.to_string()) {
        Some(Value::String(name)) => Ok(name.clone()),
        _ => Err(HeadError(format!("`id2label` has no name for label {id}"))),
    };
    (0..count).map(name).collect()
}
