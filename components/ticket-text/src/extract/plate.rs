//! German licence plates.

use std::sync::LazyLock;

use regex::Regex;

use super::Reading;

/// With the hyphen that sets off the district; without it only after a word that announces a plate.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r"(?P<plate>(?P<district>[A-ZÄÖÜ]{1,3})-(?P<letters>[A-Z]{1,2})[ -]?(?P<digits>[1-9][0-9]{0,3})(?P<kind>[EH])?)",
        r"(?:[Kk]ennzeichen|[Nn]ummernschild|[Pp]late)(?: mit| ist| lautet|:| is)* (?P<plate>(?P<district>[A-ZÄÖÜ]{1,3}) (?P<letters>[A-Z]{1,2}) ?(?P<digits>[1-9][0-9]{0,3})(?P<kind>[EH])?)",
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});
/// Most letters and digits on a plate.
const LONGEST: usize = 8;

/// Plates as `M-AB 1234`.
pub(super) fn find(text: &str) -> Vec<Reading> {
    let captures = FORMS.iter().flat_map(|form| form.captures_iter(text));
    let plates = captures.filter_map(|captures| {
        let part = |name: &str| captures.name(name).map_or("", |part| part.as_str());
        let range = captures.name("plate")?.range();
        let (district, letters, digits, kind) =
            (part("district"), part("letters"), part("digits"), part("kind"));
        let length = [district, letters, digits, kind].iter().map(|part| part.chars().count()).sum::<usize>();
        let goes_on = text.get(range.end..).is_some_and(|after| {
            let mut after = after.chars();
            after.next().is_some_and(|letter| "-/".contains(letter))
                && after.next().is_some_and(char::is_alphanumeric)
        });
        (length <= LONGEST && super::stands_alone(text, &range) && !goes_on)
            .then(|| (range, format!("{district}-{letters} {digits}{kind}")))
    });
    plates.collect()
}
