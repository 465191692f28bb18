//! E-mail addresses, also as people write them who hide them from machines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Letters and digits; those of all languages would take three times as long to compile.
const LETTERS: &str = "0-9A-Za-zÀ-ÖØ-öø-ÿ";

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let (open, close) = (r" ?[\[({<] ?", r" ?[\])}>] ?");
    let dot = format!(r"(?:\.|{open}(?i:dot|punkt){close}| (?i:dot|punkt) )");
    let name = format!(r"[{LETTERS}_%+-]+(?:{dot}[{LETTERS}_%+-]+)*");
    let label = format!(r"[{LETTERS}-]+");
    let forms = [
        // Anything that could be meant as one.
        r"[\w.%+-]+@[\w.-]*\w".to_owned(),
        // "eva (at) example.org", "eva[at]example[dot]org"
        format!(r"{name}{open}(?i:at|ät){close}{label}(?:{dot}{label})*"),
        // "eva at example dot org"
        format!(r"{name} (?i:at|ät) {label}(?: (?i:dot|punkt) {label})+"),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    FORMS.iter().flat_map(|form| form.find_iter(text)).map(|found| found.range())
}
