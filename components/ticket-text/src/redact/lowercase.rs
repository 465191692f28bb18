//! Streets with a number in lower case: "gartenstraße 7", "in der berliner straße 7", "birkenweg 14, 80331 münchen".

use std::ops::Range;
use std::sync::LazyLock;

use crate::lists::lowercase;

use super::forms::{Forms, captures, compiled};
use super::places::is_no_house;

static FORMS: Forms = LazyLock::new(|| compiled(lowercase::FORMS));

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    captures(&FORMS, text).filter_map(|captures| {
        let is_other = captures.name("street").is_some_and(|street| {
            let street = street.as_str();
            lowercase::OTHERS.contains(&street)
                || lowercase::OTHER_ENDINGS.iter().any(|end| street.ends_with(end))
        });
        let unnamed =
            captures.name("name").is_some_and(|name| lowercase::DETERMINERS.contains(&name.as_str()));
        let none = is_no_house(text.get(captures.name("house")?.start()..)?);
        captures.get(0).filter(|_| !is_other && !unnamed && !none).map(|street| street.range())
    })
}
