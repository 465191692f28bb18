//! Numbers of tickets and files: what follows the words that announce one.

use std::sync::LazyLock;

use regex::Regex;

use super::Reading;

/// Letters and digits in groups, with at least one digit.
const NUMBER: &str = r"(?P<number>[0-9A-Za-zÄÖÜ]+(?:[./_-][0-9A-Za-z]+)*)";

static TICKET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?:(?i:ticket)(?i:nummer| number)?(?: ?(?i:nr|no)\.?)? ?[#:]? ?#?|\[#)";
    Regex::new(&format!("{words}{NUMBER}")).ok()
});
static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "(?i:aktenzeichen|az|geschäftszeichen|gz|vorgangsnummer|vorgang|antragsnummer|bearbeitungsnummer|\
                 kassenzeichen|zeichen|processing id|case number|file number|reference number|reference|ref|case no)";
    Regex::new(&format!(r"{words}\.?:?(?: (?i:nr|no|number|lautet|ist|is)\.?:?)? ?{NUMBER}")).ok()
});

/// Numbers of tickets.
pub(super) fn find_tickets(text: &str) -> Vec<Reading> {
    find(&TICKET, text)
}

/// Numbers under which offices file cases.
pub(super) fn find_files(text: &str) -> Vec<Reading> {
    find(&FILE, text)
}

fn find(form: &LazyLock<Option<Regex>>, text: &str) -> Vec<Reading> {
    let captures = form.iter().flat_map(|form| form.captures_iter(text));
    let numbers = captures.filter_map(|captures| {
        let (whole, number) = (captures.get(0)?, captures.name("number")?);
        let digits = number.as_str().chars().filter(char::is_ascii_digit).count();
        let before = text.get(..whole.start())?.chars().next_back();
        let fits = digits >= 3 && !before.is_some_and(char::is_alphanumeric);
        fits.then(|| (number.range(), number.as_str().to_owned()))
    });
    numbers.collect()
}
