//! Tests of what the services and the binary add to the start page.

use super::loaded;
use crate::services::list::BULKHEAD;

/// What a policy of the page refuses, or what leads to another host.
const REFUSED: [&str; 10] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "DOMParser",
    "http://",
    "url(",
    "style=",
    " onclick=",
];

#[test]
fn forms_and_guides_name_their_service() {
    let config = loaded("", &[]).config;
    let mut forms = 0;
    for service in BULKHEAD.services {
        let (name, entry) = (service.spec().name, service.page_entry(&config));
        assert!(!entry.about.is_empty() && entry.guide.unwrap().text.starts_with("# "), "{name}");
        let Some(form) = entry.form else { continue };
        forms += 1;
        assert!(form.html.contains(&format!("<section id=\"{name}\" class=\"sheet\"")), "{name}");
        assert!(form.html.contains(" hidden>\n") && form.html.ends_with("</section>\n"), "{name}");
        assert!(form.script.contains(" function start("), "{name}");
    }
    assert!(forms > 3, "{forms}");
}

#[test]
fn guides_begin_with_their_title() {
    let page = BULKHEAD.start_page;
    for guide in page.first_guides.iter().chain(page.last_guides) {
        assert_eq!(guide.text.lines().next(), Some(&*format!("# {}", guide.title)), "{}", guide.source);
    }
}

#[test]
fn forms_have_no_urls_and_no_markup() {
    let config = loaded("", &[]).config;
    let forms = BULKHEAD.services.iter().filter_map(|service| service.page_entry(&config).form);
    for text in forms.flat_map(|form| [form.html, form.script]) {
        assert!(REFUSED.iter().all(|word| !text.contains(word)), "{text}");
    }
}
