//! Tests of a request's date and number.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use time::Month;

use super::*;

/// Returns a Saturday.
fn today() -> Date {
    Date::from_calendar_date(2026, Month::November, 28).unwrap()
}

fn facts(text: &str) -> Facts {
    super::facts(text, text, &find(text, today()), today())
}

#[test]
fn request_sentence_gives_the_days() {
    for (text, days) in [
        ("Ich habe am 18.11.2026 Wohngeld beantragt.", Some(10)),
        ("Ich habe am 20. Nov. den Parkausweis beantragt.", Some(8)),
        ("Ich habe am 20. Nov. 2026 den Parkausweis beantragt.", Some(8)),
        ("I applied for a parking permit on Nov. 20.", Some(8)),
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
fn first_file_number_is_processing_id() {
    assert_eq!(facts("Vorgang 88231, früher Az. 1234").processing_id.as_deref(), Some("88231"));
    assert_eq!(facts("Ticket#20261184").processing_id, None);
}

#[test]
fn yearless_request_date_is_the_last() {
    for (text, days) in [
        ("Ich habe am 5. Mai meinen Führerschein beantragt", Some(207)),
        ("Am 29.11. habe ich Wohngeld beantragt", Some(364)),
        ("Antrag: 5. Mai", Some(207)),
        ("Ich habe den Antrag am 5. Mai unterschrieben", Some(207)),
        ("Ich habe den Antrag am 5. Mai reklamiert", Some(207)),
        ("I have to hand in my application on 5 December", None),
        ("Am 5. Mai habe ich, wie besprochen, den Antrag gestellt", Some(207)),
        ("Ich habe am 5. Mai, als ich bei Ihnen war, den Antrag gestellt", Some(207)),
        ("Ich möchte am 5. Mai einen Antrag stellen", None),
        ("Ich werde den Antrag am 1.12. abgeben", None),
    ] {
        assert_eq!(facts(text).days_since_request, days, "{text}");
    }
}

#[test]
fn a_day_of_birth_is_no_requests() {
    for text in [
        "Antrag auf Wohngeld, Geburtsdatum: 02.11.2026",
        "Ich, geboren am 02.11.1951, stelle einen Antrag",
        "Antrag für Mia (* 02.11.2026)",
        "application for Mia, born on 2 November 2026",
    ] {
        assert_eq!(facts(text).days_since_request, None, "{text}");
    }
    for text in [
        "Mein Sohn ist am 3.5.2010 geboren und ich habe am 18.11. einen Ausweis beantragt.",
        "Mein Sohn ist am 3.5.2010 geboren, ich habe am 18.11. einen Ausweis beantragt.",
        "Ich bin am 3.5.1980 geboren und habe am 18.11. einen Ausweis beantragt.",
        "Ich wurde am 3.5.1980 in Bonn geboren, habe am 18.11.2026 einen Antrag gestellt.",
        "I was born on 3 May 1980 and I applied on 18 November",
    ] {
        assert_eq!(facts(text).days_since_request, Some(10), "{text}");
    }
    let both = "Ich, geb. 02.11.1951, habe am 18.11.2026 Wohngeld beantragt";
    assert_eq!(facts(both).days_since_request, Some(10));
}

#[test]
fn relative_days_are_parsed() {
    for (text, days) in [
        ("Gestern habe ich Wohngeld beantragt", Some(1)),
        ("Ich habe vorgestern alles eingereicht", Some(2)),
        ("Vor einer Woche beantragt", Some(7)),
        ("Letzte Woche habe ich den Antrag gestellt", Some(7)),
        ("vorletzte Woche bestellt", Some(14)),
        ("Den Antrag habe ich letzten Montag abgegeben", Some(5)),
        ("Letzten Samstag beantragt", Some(7)),
        ("Am Donnerstag habe ich Wohngeld beantragt", Some(2)),
        ("Heute habe ich Wohngeld beantragt", Some(0)),
        ("I applied yesterday", Some(1)),
        ("I applied the day before yesterday", Some(2)),
        ("I sent the form last week", Some(7)),
        ("I applied last Monday", Some(5)),
        ("I applied last month", Some(30)),
        ("I applied a week ago", Some(7)),
        ("Ich möchte heute einen Antrag stellen", None),
        ("Vor einem halben Jahr beantragt", Some(182)),
        ("Can I submit my application on December 5th?", None),
        ("I have an appointment on 5 December for my application", None),
        ("Der Bescheid kam am 12.11., Widerspruch lege ich bis 12.12. ein", Some(16)),
        ("Ich will am Montag einen Antrag stellen", None),
        ("Meine letzte Anfrage", None),
    ] {
        assert_eq!(facts(text).days_since_request, days, "{text}");
    }
}

/// The 3rd of March is 270 days ago.
#[test]
fn other_day_in_sentence_is_ignored() {
    for text in [
        "Ich habe am 3.3. den Antrag gestellt und am 5.5. eine Mahnung bekommen",
        "Am 5.5. bekam ich eine Mahnung, den Antrag habe ich am 3.3. gestellt",
        "Am 5.1. bekam ich eine Mahnung, den Antrag habe ich am 3.3. gestellt",
        "Ich habe am 3.3. den Antrag gestellt, am 5.1. bin ich umgezogen",
        "Ich bin am 5.1. umgezogen und habe am 3.3. den Antrag gestellt",
        "Ich habe am 3.3. Kindergeld und Wohngeld beantragt, am 5.5. kam eine Mahnung",
        "Ich habe am 3.3. Kindergeld und Wohngeld beantragt und bis heute nichts gehört",
        "Mein Antrag auf Wohngeld vom 3.3. wurde am 5.5. abgelehnt",
        "Am 3.3. habe ich auf Ihr Schreiben vom 5.1. den Antrag gestellt",
        "Ich habe am Dienstag, dem 3.3., den Antrag gestellt",
        "Ich habe am Dienstag, 3. März, den Antrag gestellt",
        "Am 3. März, Frau Huber, habe ich den Antrag gestellt",
        "Den Antrag habe ich am 3.3. gestellt, der Termin ist am 3.12.",
        "I got a reminder on 5 January but I applied on 3 March",
        "I applied on March 3, 2026 and got a reminder on May 5, 2026",
        "I moved on 5 January, and I sent my application on 3 March",
    ] {
        assert_eq!(facts(text).days_since_request, Some(270), "{text}");
    }
    let vague = "Am 3.3. war ich da und habe den Antrag gestellt und am 5.5. kam eine Mahnung";
    assert_eq!(facts(vague).days_since_request, None);
}

/// The 3rd of October is eight weeks ago.
#[test]
fn day_mentioned_twice_counts_once() {
    for text in [
        "Ich habe am 3. Oktober, also vor acht Wochen, einen Antrag gestellt.",
        "Am 3. Oktober, vor acht Wochen, habe ich einen Antrag gestellt.",
        "Ich habe vor acht Wochen, am 3. Oktober, den Antrag gestellt.",
        "Ich habe am 3. Oktober, also vor zwei Monaten, einen Antrag gestellt.",
        "On 3 October, eight weeks ago, I applied for a permit.",
        "Ich habe am 3. 10. den Antrag gestellt.",
    ] {
        assert_eq!(facts(text).days_since_request, Some(56), "{text}");
    }
}

/// The 1st of November is 27 days ago.
#[test]
fn purpose_day_is_not_the_request_s() {
    for text in [
        "Ich habe am 1.11. einen Parkplatz für den 15.12. beantragt.",
        "Ich habe am 1.11.2026 einen Parkplatz für den 15.12. beantragt.",
        "Am 1.11. habe ich für den Umzug am 15.12. einen Antrag gestellt.",
        "Ich habe am 1. November einen Parkausweis ab 15. Dezember beantragt.",
        "Ich habe am 1. November die Unterlagen für unsere Hochzeit am 15. Mai eingereicht.",
        "Ich habe am 1.11. den Antrag für meine Hochzeit am 5.5. gestellt.",
        "I submitted the papers for our wedding on 15 May on 1 November.",
        "I applied for a permit on 1 November and got a reminder on 15 November",
        "Ich habe für meine Tochter am 1.11. einen Ausweis beantragt",
    ] {
        assert_eq!(facts(text).days_since_request, Some(27), "{text}");
    }
    for text in ["Ich habe einen Parkplatz für den 15.12. beantragt", "I applied for 15 December"] {
        assert_eq!(facts(text).days_since_request, None, "{text}");
    }
}

#[test]
fn what_was_not_requested_has_no_day() {
    for text in [
        "I have not applied yet, my old passport expired yesterday.",
        "I haven’t submitted my application yesterday",
        "How do I apply? My application form got wet yesterday.",
        "Ich habe den Antrag noch nicht gestellt, weil ich erst gestern umgezogen bin.",
        "Ich habe den Antrag noch nicht gestellt, mein Termin war am 25.11.2026.",
        "Ich habe vor drei Tagen versucht, einen Antrag zu stellen, es ging nicht.",
        "Ich wollte am 25.11.2026 den Antrag stellen, aber das Portal ging nicht.",
        "Ich hätte gestern fast den Antrag gestellt.",
        "Mein Ausweis ist seit gestern abgelaufen, wie stelle ich den Antrag?",
        "Wurde der Antrag gestern gestellt?",
        "Ich weiß nicht, ob ich den Antrag am 20.11. gestellt habe",
        "Ich bin gestern umgezogen und habe noch keinen Antrag gestellt.",
        "Ich habe gestern wegen meines Antrags angerufen.",
        "Ich habe gestern eine Mahnung geschickt, wo bleibt mein Antrag?",
        "Sie haben mir gestern den Bescheid zu meinem Antrag geschickt.",
        "Mein Antrag wurde gestern abgelehnt.",
    ] {
        assert_eq!(facts(text).days_since_request, None, "{text}");
    }
    for text in [
        "Ich habe am 18.11. den Antrag gestellt und noch nicht gehört",
        "I have not received an answer to the application I sent on 18 November",
        "Ich habe keine Antwort auf meinen am 18.11. gestellten Antrag",
        "Wo bleibt mein Pass, den ich am 18.11. beantragt habe?",
        "Den Antrag habe ich nicht online, sondern per Post geschickt, am 18.11.",
        "Mein Ausweis ist gestern abgelaufen, den neuen habe ich am 18.11. beantragt",
        "I went there on 18 November and applied",
        "Antragsdatum: 18.11.2026",
        "My application from 18 November has not been answered",
        "Mein Antrag von vor zehn Tagen ist noch offen",
        "Ich war am 18.11. auf dem Amt und habe den Antrag abgegeben",
        "Am 18.11. habe ich den Pass für die Reise im Dezember beantragt",
    ] {
        assert_eq!(facts(text).days_since_request, Some(10), "{text}");
    }
}

#[test]
fn approximate_request_day_is_ignored() {
    for text in [
        "Ich habe den Antrag im Mai gestellt und gestern nachgefragt.",
        "Am 20.11.2026 kam der Bescheid zu meinem Antrag, den ich im Mai gestellt habe.",
        "Ich warte seit Mai, habe gestern wieder eine Mahnung geschickt.",
        "Ich habe den Antrag im Mai gestellt. Gestern habe ich Unterlagen geschickt.",
        "Ich habe gestern nach meinem im Mai gestellten Antrag gefragt.",
        "Der Antrag liegt seit Anfang September bei Ihnen, gestern habe ich Fotos geschickt.",
        "Vor einigen Wochen beantragt, gestern noch ein Foto geschickt",
        "I applied in March 2026 and sent a photo yesterday",
        "I applied a few months ago, and yesterday I sent a photo",
        "Im Jahr 2025 beantragt, am 18.11. nochmals geschickt",
        "Gestern habe ich die fehlenden Unterlagen geschickt, der Antrag ist vom Mai",
        "Ich warte seit gestern auf den Bescheid zu meinem Antrag aus dem Mai.",
    ] {
        assert_eq!(facts(text).days_since_request, None, "{text}");
    }
    let text = "Ich habe am 3.3. den Antrag gestellt und warte seit Wochen";
    assert_eq!(facts(text).days_since_request, Some(270), "longer ago than it says");
    assert_eq!(facts("I have been waiting since March 3").days_since_request, Some(270));
}

/// A requested appointment has not been made yet.
#[test]
fn requested_appointment_has_no_day() {
    for text in [
        "Ich habe am 1. November einen Termin beantragt.",
        "Am 1. November habe ich online einen Termin gebucht und den Antrag ausgefüllt abgeschickt.",
    ] {
        assert_eq!(facts(text).days_since_request, Some(27), "{text}");
    }
}

#[test]
fn future_day_was_not_last_year() {
    for text in [
        "Mein Termin ist am 3.12.",
        "Mein Termin für den Antrag ist am 3.12.",
        "Mein Termin für den Antrag ist am 3.12. und ich habe ein Foto bestellt",
        "Ich habe für den Antrag einen Termin am 3.12. bekommen",
        "Die Frist für den Widerspruch ist der 3.12.",
        "Mein Flug geht am 3.12., den Antrag habe ich längst gestellt",
        "Mein Termin ist am Montag, den Antrag habe ich gestellt",
        "My appointment for the application is on 3 December",
        "Haben Sie am 5. Dezember offen, damit ich den Antrag abgeben kann?",
        "Haben Sie am 5. Dezember für meinen Antrag geöffnet?",
        "Am 5. Dezember habe ich frei, kann ich dann meinen Antrag abgeben?",
        "I have a day off on 5 December, can I hand in my application then?",
        "We have our wedding on 5 December, which application do we need?",
    ] {
        assert_eq!(facts(text).days_since_request, None, "{text}");
    }
    assert_eq!(
        facts("Der Termin war am 3.12., da habe ich den Antrag gestellt").days_since_request,
        Some(360)
    );
}

#[test]
fn quoted_number_counts_without_other_text() {
    let id = |own, whole| super::facts(own, whole, &find(own, today()), today()).processing_id;
    assert_eq!(id("Wann kommt der Pass?", "Wann kommt der Pass?\n> Az. 4711"), None);
    assert_eq!(id("", "> Az. 4711\n> Az. 4711").as_deref(), Some("4711"));
    assert_eq!(id("", "> Az. 4711\n> Az. 4712"), None);
}

#[test]
fn small_words_decide_about_a_request() {
    for (text, days) in [
        ("Ich habe vor etwa drei Wochen den Antrag gestellt.", Some(21)),
        ("Am 18.11. wurden mir Unterlagen geschickt.", None),
        ("Ich habe mir am 18.11. einen Ausweis beantragt.", Some(10)),
        ("Nicht nur ich habe ihn am 18.11. beantragt.", Some(10)),
        ("Am 18.11. hat er angerufen und der Antrag ist gestellt.", None),
    ] {
        assert_eq!(facts(text).days_since_request, days, "{text}");
    }
}
