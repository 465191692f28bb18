#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use time::Month;

use super::*;

fn facts(text: &str) -> Facts {
    super::facts(text, Date::from_calendar_date(2026, Month::November, 28).unwrap())
}

#[test]
fn days_since_the_request_come_from_its_sentence() {
    for (text, days) in [
        ("Ich habe am 18.11.2026 Wohngeld beantragt.", Some(10)),
        ("Mein Antrag liegt seit elf Wochen bei Ihnen.", Some(77)),
        ("Ich habe vor 3 Wochen alles abgegeben. Heute ist der 27.11.2026.", Some(21)),
        ("I applied six weeks ago. Reference FE-2026-1184.", Some(42)),
        ("I have been waiting for over two months.", Some(60)),
        ("Am 3. November habe ich den Antrag gestellt.", Some(25)),
        ("Der Antrag ist vor einigen Wochen raus.", None),
        ("Ich bin am 18.11.2026 umgezogen. Wie stelle ich einen Antrag?", None),
        ("Ich möchte zum 1.12.2026 einen Antrag stellen.", None),
        ("", None),
    ] {
        assert_eq!(facts(text).days_since_request, days, "{text}");
    }
}

#[test]
fn the_processing_id_is_the_first_file_number() {
    assert_eq!(facts("Vorgang 88231, früher Az. 1234").processing_id.as_deref(), Some("88231"));
    assert_eq!(facts("Ticket#20261184").processing_id, None);
}
