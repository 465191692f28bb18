//! Patterns of e-mail addresses, also in spellings that hide them from machines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Letters and digits; all of Unicode's would take three times as long to compile.
const LETTERS: &str = "0-9A-Za-zÀ-ÖØ-öø-ÿ";
/// Letters without digits.
const ALPHABETIC: &str = "A-Za-zÀ-ÖØ-öø-ÿ";
/// Signs of texts with one of the [`RARE`] forms, which are compiled only for these.
const RARE_SIGNS: [&str; 11] =
    ["@ ", " @", "＠", "&#64;", "&commat;", "(a)", "[a]", "(@)", "[@]", "*at*", "*AT*"];

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let (open, close) = (r" ?[\[({<] ?", r" ?[\])}>] ?");
    let dot = format!(r"(?:\.|{open}(?i:dot|punkt){close}| (?i:dot|punkt) )");
    let name = format!(r"[{LETTERS}_%+-]+(?:{dot}[{LETTERS}_%+-]+)*");
    let label = format!(r"[{LETTERS}-]+");
    let forms = [
        // Any possible address, in a link too.
        r"[\w.%+-]+(?:@|%40)[\w.-]*\w".to_owned(),
        // "eva (at) example.org", "eva[at]example[dot]org", not "Treffen (at) 10 Uhr"
        format!(r"{name}{open}(?i:at|ät){close}[0-9.-]*[{ALPHABETIC}][{LETTERS}-]*(?:{dot}{label})*"),
        // "eva at example dot org"
        format!(r"{name} (?i:at|ät) {label}(?: (?i:dot|punkt) {label})+"),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

/// "eva @ example.org", "eva(a)example.org", "eva *at* example.org", which need a domain with a point.
static RARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let at = r"(?: ?(?:[@＠]|&#64;|&commat;) ?|[\[(](?:a|@)[\])]| ?\*(?:at|AT)\* ?)";
    Regex::new(&format!(r"[{LETTERS}._%+-]+{at}(?:[{LETTERS}-]+\.)+[{ALPHABETIC}]{{2,}}")).ok()
});

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    let rare = RARE_SIGNS.iter().any(|sign| text.contains(sign)).then(|| RARE.as_ref()).flatten();
    FORMS.iter().chain(rare).flat_map(|form| form.find_iter(text)).map(|found| found.range())
}
