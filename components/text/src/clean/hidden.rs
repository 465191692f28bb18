//! Visibility of the elements of an HTML page.

use crate::html::Tag;

/// Elements whose text mail programs do not show.
const SILENT: [&[u8]; 5] = [b"script", b"style", b"title", b"template", b"noscript"];
/// Void elements, which have no content and no end tag.
const VOID: [&[u8]; 10] =
    [b"area", b"base", b"br", b"col", b"hr", b"img", b"input", b"link", b"meta", b"wbr"];
/// Elements that the next one of their kind ends, unless a list or table began in between.
const ITEMS: [&[u8]; 6] = [b"dd", b"dt", b"li", b"td", b"th", b"tr"];
/// Containers of such elements.
const LISTS: [&[u8]; 4] = [b"dl", b"ol", b"table", b"ul"];
/// Classes and ids of elements with a signature, as Gmail, Thunderbird, Outlook and Zoho write them.
const SIGNATURES: [&str; 8] = [
    "gmail_signature",
    "moz-signature",
    "signature",
    "ms-outlook-mobile-signature",
    "zm-_id_-sgn",
    "io-ox-signature",
    "front-signature",
    "AppleMailSignature",
];
/// The attribute of Zammad's signatures.
const SIGNATURE: &[u8] = b"data-signature";
/// Maximum nesting depth; deeper elements count as part of their ancestors, as in browsers.
const DEEPEST: usize = 512;
/// Maximum size of unreadable letters, pixels or points.
const SMALLEST: f32 = 1.0;
/// Offset in pixels from which a text is outside the page.
const OUTSIDE: f32 = -500.0;

/// Why a text is not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseen {
    /// It is not text of the page: a title, a script.
    Silent,
    /// The sender hid it.
    Hidden,
}

/// The stack of open elements.
#[derive(Debug, Default)]
pub(super) struct Open(Vec<(Vec<u8>, Option<Unseen>)>);

impl Open {
    /// Opens an element; `block` says whether it begins on a line of its own, which ends a paragraph.
    pub(super) fn begin(&mut self, tag: &Tag, block: bool) {
        let own = tag.name();
        if block && self.0.last().is_some_and(|(name, _)| name.as_slice() == b"p") {
            self.0.pop();
        }
        if ITEMS.contains(&own) {
            let nearest =
                self.0.iter().rposition(|(name, _)| name == own || LISTS.contains(&name.as_slice()));
            if let Some(at) = nearest.filter(|at| self.0.get(*at).is_some_and(|(name, _)| name == own)) {
                self.0.truncate(at);
            }
        }
        let ends = tag.is_self_closing() || VOID.contains(&own);
        if !ends && self.0.len() < DEEPEST {
            let unseen = self.unseen().or_else(|| unseen(tag));
            self.0.push((own.to_vec(), unseen));
        }
    }

    /// Closes an element and the elements still open inside it.
    pub(super) fn end(&mut self, name: &[u8]) {
        if let Some(at) = self.0.iter().rposition(|(open, _)| open.as_slice() == name) {
            self.0.truncate(at);
        }
    }

    /// Returns why text at this point is not visible; `None` if it is visible.
    pub(super) fn unseen(&self) -> Option<Unseen> {
        self.0.last().and_then(|(_, unseen)| *unseen)
    }
}

/// Returns whether a mail program marks the element as its sender's signature.
pub(super) fn is_signature(tag: &Tag) -> bool {
    let is_known = |word: &str| SIGNATURES.iter().any(|known| word.eq_ignore_ascii_case(known));
    let mut named = [b"class".as_slice(), b"id"].into_iter().filter_map(|name| tag.attribute(name));
    named.any(|names| names.split_ascii_whitespace().any(is_known)) || tag.attribute(SIGNATURE).is_some()
}

fn unseen(tag: &Tag) -> Option<Unseen> {
    let styled = || {
        let style = tag.attribute(b"style").map(|style| style.to_ascii_lowercase());
        style.is_some_and(|style| hides(&without_comments(&style)))
    };
    if SILENT.contains(&tag.name()) {
        Some(Unseen::Silent)
    } else {
        (tag.attribute(b"hidden").is_some() || styled()).then_some(Unseen::Hidden)
    }
}

fn without_comments(style: &str) -> String {
    let mut parts = style.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// Returns whether the declarations of a lower-case `style` make text unreadable. Colours are not compared: they
/// depend on the background of the page.
fn hides(style: &str) -> bool {
    let declarations: Vec<(&str, &str)> = style
        .split(';')
        .filter_map(|declaration| declaration.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim().trim_end_matches("!important").trim()))
        .collect();
    let cut = declarations.iter().any(|(name, value)| name.starts_with("overflow") && *value == "hidden");
    declarations.into_iter().any(|(name, value)| match name {
        "display" => value == "none",
        "visibility" => matches!(value, "hidden" | "collapse"),
        "mso-hide" => value == "all",
        "color" => value == "transparent",
        "font" => value.split([' ', '/']).any(|part| part == "0" || part == "0px"),
        "opacity" => length(value).is_some_and(|(share, _)| share == 0.0),
        "font-size" => length(value)
            .is_some_and(|(size, unit)| size == 0.0 || (size <= SMALLEST && matches!(unit, "px" | "pt"))),
        "height" | "max-height" | "width" | "max-width" => {
            cut && length(value).is_some_and(|(size, _)| size == 0.0)
        }
        "text-indent" | "left" | "top" | "margin-left" => {
            length(value).is_some_and(|(place, unit)| place <= OUTSIDE && unit != "%")
        }
        _ => false,
    })
}

/// Parses a number and its unit.
fn length(value: &str) -> Option<(f32, &str)> {
    let end = value.find(|sign: char| !sign.is_ascii_digit() && !".-+".contains(sign)).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim()))
}
