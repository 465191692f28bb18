//! Tests of the signs before publication.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bulkhead_text::language::Language;
use regex::Regex;

use super::*;
use crate::passage::Item;
use crate::publication::PublishBlocker;
use crate::wording::unpublished;

/// The script that fits the certainty on the reasons of drafts.
const SCRIPT: &str = include_str!("../../../../tests/data/knowledge/fit_publishing.py");

const TARIFF: &str = "Ein Liegeplatz kostet 12 Euro. Die Schleuse ist im Winter zu.";

fn passage(document: &str, text: &str, score: f32) -> Passage {
    Passage { document: document.to_owned(), text: text.to_owned(), score, ..Passage::default() }
}

fn sentence(text: &str, passage: usize) -> Grounded {
    Grounded { text: text.to_owned(), passage, ..Grounded::default() }
}

fn lead(text: &str, margin: f32) -> Lead {
    Lead { passage: 0, text: text.to_owned(), margin }
}

fn harbour() -> Vec<Passage> {
    vec![passage("harbour", TARIFF, 0.9), passage("camp", "Ein Zelt kostet 9 Euro.", 0.4)]
}

#[test]
fn agreeing_signs_leave_no_doubt() {
    let said = "Ein Liegeplatz kostet 12 Euro.";
    let found = |lead: Option<Lead>| {
        doubts("Was kostet ein Liegeplatz?", &[sentence(said, 0)], &harbour(), lead.as_ref(), false)
    };
    assert_eq!(found(Some(lead(said, 0.03))), []);
    assert_eq!(found(Some(lead(said, f32::INFINITY))), []);
    assert_eq!(found(None), []);
    assert_eq!(found(Some(lead("Die Schleuse ist im Winter zu.", 0.03))), [Doubt::Lacking]);
}

#[test]
fn repeated_question_is_no_answer() {
    let found = |question: &str| {
        doubts(question, &[sentence("12 Euro", 0)], &harbour(), Some(&lead("12 Euro", 0.03)), false)
    };
    assert_eq!(found("Wer bekommt die 12 Euro?"), [Doubt::Lacking]);
    assert_eq!(found("Was kostet ein Liegeplatz?"), []);
}

#[test]
fn several_documents_are_doubtful() {
    let said = [sentence("Ein Liegeplatz kostet wenig.", 0), sentence("Ein Zelt kostet 9 Euro.", 1)];
    let near = lead("Ein Liegeplatz kostet 12 Euro.", 0.03);
    let found = doubts("Was kostet das?", &said, &harbour(), Some(&near), false);
    assert_eq!(found, [Doubt::Documents, Doubt::Disagreement]);
}

#[test]
fn nearest_and_most_relevant_must_agree() {
    let mut passages = harbour();
    let said = "Ein Liegeplatz kostet 12 Euro.";
    for passage in &mut passages {
        passage.score = 1.0 - passage.score;
    }
    let near = lead(said, 0.03);
    let found = doubts("Was kostet ein Liegeplatz?", &[sentence(said, 0)], &passages, Some(&near), false);
    assert_eq!(found, [Doubt::Disagreement]);
}

#[test]
fn equally_near_pages_are_doubtful() {
    let said = "Ein Liegeplatz kostet 12 Euro.";
    let found = |margin| {
        let near = lead(said, margin);
        doubts("Was kostet ein Liegeplatz?", &[sentence(said, 0)], &harbour(), Some(&near), false)
    };
    assert!(Certainty::new(0.999, Some(&lead(said, 0.0))).probability() > 0.9, "relevance alone is enough");
    for margin in [0.0, -0.01, LEAST_MARGIN / 2.0] {
        assert_eq!(found(margin), [Doubt::Tie], "{margin}");
    }
    assert_eq!(found(LEAST_MARGIN), []);
}

#[test]
fn figures_to_choose_from_are_doubtful() {
    let found = |texts: &[&str]| {
        let said: Vec<Grounded> = texts.iter().map(|text| sentence(text, 0)).collect();
        doubts("Wie ist der Tarif?", &said, &harbour(), None, false)
    };
    assert_eq!(found(&["Kanu: 12 Euro", "Segelboot: 20 Euro"]), [Doubt::Several]);
    assert_eq!(found(&["Ein Kanu kostet 12 Euro.", "Ein Segelboot kostet 20 Euro."]), [Doubt::Several]);
    assert_eq!(found(&["Steg 4: belegt", "Steg 5: frei"]), [Doubt::Several]);
    assert_eq!(found(&["Ein Kanu kostet 12 Euro. Ein Floß ist kostenlos."]), [Doubt::Several]);
    assert_eq!(found(&["Ein Floß ist kostenlos. Ein Ruder ist kostenlos."]), []);
    assert_eq!(found(&["Kanu: 12 Euro", "Bezahlt wird am Steg."]), []);
}

#[test]
fn amounts_of_headings_are_choices() {
    let found = |heading: &str| {
        let said = Grounded { heading: Some(heading.to_owned()), ..sentence("für Gäste: 3 Euro", 0) };
        doubts("Was zahlen Gäste für den Steg?", &[said], &harbour(), None, false)
    };
    assert_eq!(found("Für ein Jahr: 50 Euro zusätzlich:"), [Doubt::Several]);
    assert_eq!(found("Am Steg:"), []);
}

#[test]
fn yes_or_no_needs_permission_and_sentence() {
    let found = |said: &str, may| {
        doubts("Darf ich im Hafen baden?", &[sentence(said, 0)], &harbour(), Some(&lead(said, 0.03)), may)
    };
    let forbidden = "Im Hafen darf niemand baden.";
    assert_eq!(found(forbidden, false), [Doubt::YesNo]);
    assert_eq!(found(forbidden, true), []);
    assert_eq!(found("Baden im Hafen", true), [Doubt::Lacking, Doubt::YesNo]);
    assert_eq!(found("Der Hafen hat sieben Stege.", true), [Doubt::YesNo]);
}

#[test]
fn title_may_ask_for_yes_or_no() {
    let mut passages = harbour();
    let said = "Der Hafen hat einen Badesteg.";
    let mut found = |title: &str, may| {
        passages[0].title = title.to_owned();
        doubts("Darf ich im Hafen baden?", &[sentence(said, 0)], &passages, Some(&lead(said, 0.03)), may)
    };
    assert_eq!(found("Kann man im Hafen baden?", true), []);
    assert_eq!(found("Kann man im Hafen baden?", false), [Doubt::YesNo]);
    assert_eq!(found("Wo kann man im Hafen baden?", true), [Doubt::YesNo]);
    assert_eq!(found("Baden im Hafen", true), [Doubt::YesNo]);
}

/// Returns the page of frequent questions `document`, whose only item is as near to a question as given.
fn entry(document: &str, title: &str, text: &str, nearness: f32) -> Passage {
    let items = vec![Item { range: 0..text.len(), score: nearness }];
    Passage { title: title.to_owned(), items, ..passage(document, text, nearness) }
}

#[test]
fn same_frequent_question_is_not_another() {
    let asked = "Was kostet ein Liegeplatz?";
    let pages = [
        entry("harbour", asked, "Ein Liegeplatz kostet 12 Euro.", 0.9),
        entry("copy", " was kostet ein Liegeplatz? ", "Der Liegeplatz kostet 12 Euro am Tag.", 0.895),
        entry("camp", "Was kostet ein Zelt?", "Ein Zelt kostet 9 Euro.", 0.8),
    ];
    let found = led(asked, &pages).unwrap();
    assert!(found.margin > 0.1, "{found:?}");
    let said = [sentence("Ein Liegeplatz kostet 12 Euro.", 0)];
    assert_eq!(doubts(asked, &said, &pages, Some(&found), false), []);
    let others = [pages[0].clone(), Passage { title: "Hafen".to_owned(), ..pages[1].clone() }];
    assert!(led(asked, &others).unwrap().margin < 0.05);
}

#[test]
fn certainty_grows_with_margin_and_relevance() {
    let sure = |relevance, margin| Certainty::new(relevance, Some(&lead("", margin))).probability();
    assert!(sure(0.9, 0.02) > sure(0.9, 0.01) && sure(0.9, 0.02) > sure(0.5, 0.02));
    assert!(sure(0.9, 0.04) > 0.9 && sure(0.9, 0.0) < 0.75 && sure(0.05, 0.01) < 0.3);
    // A base of one document has no second one, and no relevance is certain.
    assert_eq!(sure(0.9, f32::INFINITY), sure(0.9, GREATEST_MARGIN));
    assert!(sure(1.0, 0.02) < 1.0 && sure(0.0, 0.02) > 0.0);
    assert!(sure(f32::NAN, 0.02).is_nan() && sure(0.9, f32::NAN).is_nan());
    assert_eq!(Certainty::new(0.4, None).probability(), 0.4);
}

fn led(question: &str, passages: &[Passage]) -> Option<Lead> {
    crate::extractive::lead(question, passages, Language::German)
}

#[test]
fn lead_measures_distance_to_other_documents() {
    let item = |range, score| Item { range, score };
    let mut passages = harbour();
    assert_eq!(led("Was?", &passages), None);
    for (passage, scores) in passages.iter_mut().zip([vec![0.9, 0.5], vec![0.8]]) {
        let ends = [30, passage.text.len()];
        let starts = [0, 31];
        let places = starts.into_iter().zip(ends).map(|(start, end)| start..end.min(passage.text.len()));
        passage.items = places.zip(scores).map(|(place, score)| item(place, score)).collect();
    }
    let found = led("Xyz", &passages);
    let found = found.map(|lead| (lead.passage, lead.text, (lead.margin * 100.0).round()));
    assert_eq!(found, Some((0, "Ein Liegeplatz kostet 12 Euro.".to_owned(), 10.0)));
}

#[test]
fn fit_script_reads_relevance_and_lead() {
    let (_, form) = SCRIPT.split_once("LACKING = re.compile(\n    r\"").unwrap();
    let (form, _) = form.split_once("\"\n)").unwrap();
    let form = Regex::new(&format!("^(?:{form})$")).unwrap();
    let said = |certainty: Certainty, needed, language| {
        unpublished(&[PublishBlocker::Uncertain { certainty, needed }], "passports", language).unwrap()
    };
    let near = Certainty::new(0.873, Some(&lead("", 0.0123)));
    let far = Certainty::new(0.04, Some(&lead("", f32::INFINITY)));
    let unread = Certainty::new(0.5, None);
    for language in [Language::German, Language::English] {
        // The second one is just under what is needed.
        for (certainty, needed) in [(near, 1.0), (near, near.probability() + 0.001), (far, 1.0)] {
            let said = said(certainty, needed, language);
            let read = form.captures(&said).unwrap_or_else(|| unreachable!("{said}"));
            let lead: f32 = read[2].replace(',', ".").parse().unwrap();
            assert_eq!(read[1], (certainty.relevance * 100.0).round().to_string(), "{said}");
            assert!((lead - certainty.margin.unwrap() * 100.0).abs() < 0.051, "{said}");
        }
        assert!(!form.is_match(&said(unread, 1.0, language)), "there is no lead to read");
    }
}

#[test]
fn fit_script_has_the_same_bounds() {
    let [least, most] = RELEVANCE;
    for line in [format!("GREATEST_LEAD = {GREATEST_MARGIN}"), format!("RELEVANCE = ({least}, {most})")] {
        assert!(SCRIPT.lines().any(|own| own == line), "{line}");
    }
}
