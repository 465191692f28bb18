//! The note for clerks: a template with placeholders.

/// A placeholder in a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePlaceholder {
    /// `{category}`
    Category,
    /// `{action}`
    Action,
    /// `{reason}`
    Reason,
}

/// Returns `template` with its placeholders replaced; `{{` and `}}` are literal braces.
///
/// # Errors
///
/// Fails when a brace is unmatched or a placeholder is unknown.
pub(super) fn fill<'v>(template: &str, value: impl Fn(NotePlaceholder) -> &'v str) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, brace) = rest.split_at(at);
        filled.push_str(text);
        if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            filled.push_str(brace.get(..1).unwrap_or_default());
            rest = after;
            continue;
        }
        let inner = brace.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((name, after)) = inner else {
            return Err("has an unmatched brace: write {{ or }} for a literal brace".to_owned());
        };
        filled.push_str(value(match name {
            "category" => NotePlaceholder::Category,
            "action" => NotePlaceholder::Action,
            "reason" => NotePlaceholder::Reason,
            other => {
                return Err(format!(
                    "has the unknown placeholder {{{other}}}: use {{category}}, {{action}} or {{reason}}"
                ));
            }
        }));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
