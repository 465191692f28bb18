//! Tests of dates and dates of birth.

use super::*;

#[test]
fn dates_are_read_in_many_forms() {
    for (text, date) in [
        ("am 03.05.2026", "2026-05-03"),
        ("am 3. 5. 26", "2026-05-03"),
        ("vom 3. Mai 2026", "2026-05-03"),
        ("Termin 3.Mai", "2027-05-03"),
        ("seit dem 24.9. warte ich", "2026-09-24"),
        ("Termin: 12. März", "2027-03-12"),
        ("geboren 12.03.51", "1951-03-12"),
        ("2026-02-28", "2026-02-28"),
        ("on 3 May 2026", "2026-05-03"),
        ("on May 3rd, 2026", "2026-05-03"),
        ("the 1st of December", "2026-12-01"),
        ("on Sept. 12", "2026-09-12"),
        ("03/05/2026", "2026-05-03"),
        ("29.02.2024", "2024-02-29"),
        ("Eingang: 2026-11-01T10:00:00+01:00", "2026-11-01"),
        ("2026-11-01T10:00:00.123Z.", "2026-11-01"),
        ("2026-11-01T10:00", "2026-11-01"),
    ] {
        one(text, "date", date);
    }
}

#[test]
fn tense_selects_a_missing_year() {
    for (text, date) in [
        ("Ich habe am 5. Mai meinen Führerschein beantragt", "2026-05-05"),
        ("Am 29.11. wurde der Antrag abgelehnt", "2025-11-29"),
        ("seit dem 12. März", "2026-03-12"),
        ("Ihr Bescheid vom 3.Mai", "2026-05-03"),
        ("I applied on 5 May", "2026-05-05"),
        ("bestellt am 28.11.", "2026-11-28"),
        ("Ich möchte am 5. August heiraten", "2027-08-05"),
        ("Das wird am 20.11. geliefert", "2027-11-20"),
        ("We will move on 5 August", "2027-08-05"),
        ("Wir haben am 5. Mai einen Termin", "2027-05-05"),
        ("Ich habe einen Platz für den 15.12. beantragt", "2026-12-15"),
        ("Ich habe am 3. 10. bestellt", "2026-10-03"),
        ("Vom 3. Mai an", "2026-05-03"),
        ("Ich bin umgezogen. Der Termin: 5. Mai. Er war lang", "2027-05-05"),
        ("Am 29. Februar habe ich bestellt", "2024-02-29"),
        ("Der Termin am 10.12. wurde abgesagt", "2026-12-10"),
        ("Mein Termin wurde auf den 5.12. verschoben", "2026-12-05"),
        ("My appointment was moved to 10 December", "2026-12-10"),
    ] {
        one(text, "date", date);
    }
}

#[test]
fn amounts_paragraphs_and_versions_are_no_dates() {
    for text in [
        "12.11.20 Euro",
        "zahle 12.11.20 €",
        "§ 3.4.25 BauO",
        "nach §§ 3.4.2025",
        "Abs. 3.4.25",
        "Version 3.4.25",
        "Version: 3.4.25",
        "iOS 12.1.20 und App-Version 1.2.",
        "Kapitel 3.4. lesen",
        "Nr. 3.4.25",
        "Fragen 3. 10. und 12.",
        "Nr. 3. 10.",
        "IP 10.11.12.13",
        "10.11.12.13",
        "in Zimmer 2.12.",
    ] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "date"), "{text}: {:?}", found(text));
    }
    one("am 12.11.20 habe ich Euro gezahlt", "date", "2020-11-12");
    one("am 12.11.2020 Euro gezahlt", "date", "2020-11-12");
}

#[test]
fn birth_date_is_found_by_context() {
    let found = |text: &str| {
        let dates = date::find(text, today()).into_iter();
        dates.map(|(range, _)| birth::is_birth(text, &range)).collect::<Vec<_>>()
    };
    for (text, births) in [
        ("geb. am 12.03.1951", [true].as_slice()),
        ("Geburtsdatum:\n12.03.1951", &[true]),
        ("born on 3 May 1990", &[true]),
        ("* 12.03.1951", &[true]),
        ("Am 12.03.1951 in München geboren", &[true]),
        ("Mia ist am 3.5. geboren. Der Termin war am 4.6.", &[true, false]),
        ("* Antrag vom 12.03.2026", &[false]),
        ("gebeten am 12.03.2026", &[false]),
        ("Ich bin am 3.5.1980 geboren und habe am 3.10. bestellt", &[true, false]),
        ("Ich wurde am 3.5.1980 in Bonn geboren, habe am 3.10.2026 bestellt", &[true, false]),
        ("Er ist am 3.5.1980 geboren und seine Frau am 4.6.1982", &[true, true]),
        ("Ich, Eva Muster, habe zwei Kinder, geboren am 3.5.2010", &[true]),
    ] {
        assert_eq!(found(text), births, "{text}");
    }
}

#[test]
fn the_calendar_is_kept() {
    for text in [
        "31.06.2026",
        "29.02.2026",
        "00.01.2026",
        "12.13.2026",
        "Version 1.2.3.4",
        "Mai 2026",
        "31. April",
        "1.500.000",
        "2026-02-30T10:00:00Z",
        "2026-11-01T1",
        "2026-11-01Typ",
    ] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "date"), "{text}: {:?}", found(text));
    }
}

#[test]
fn two_digit_year_follows_a_month() {
    for (text, date) in [
        ("am 3.März 26 bestellt", "2026-03-03"),
        ("am 3. März 26 bestellt", "2026-03-03"),
        ("am 3. Mai '26", "2026-05-03"),
        ("am 3. Mai ’24.", "2024-05-03"),
        ("on May 3rd, '26", "2026-05-03"),
        ("am 3. März 26 Wohngeld beantragt", "2026-03-03"),
        ("am 3. März 24 Kindergeld beantragt", "2024-03-03"),
        ("am 3. März 26 am Schalter beantragt", "2026-03-03"),
        ("5.Okt.26", "2026-10-05"),
        ("geboren am 3. März 51 in Bonn", "1951-03-03"),
        // A count or a time is not a year.
        ("Termin 3. Mai 10 Uhr", "2027-05-03"),
        ("Termin 3. Mai 10:30", "2027-05-03"),
        ("Termin 3. Mai 10.30 Uhr", "2027-05-03"),
        ("Termin 3. Mai 10 bis 12 Uhr", "2027-05-03"),
        ("Termin 3. Mai 10-12 Uhr", "2027-05-03"),
        ("Termin 3. Mai 26 Personen", "2027-05-03"),
        ("appointment on 3 May 10 am", "2027-05-03"),
        ("Termin 3. Mai, 26 Gäste", "2027-05-03"),
    ] {
        one(text, "date", date);
    }
    let spans = found("vom 3. Mai 26 bis 5. Mai 26");
    assert_eq!(spans.iter().map(|(_, date)| date.as_str()).collect::<Vec<_>>(), ["2026-05-03", "2026-05-05"]);
}

#[test]
fn short_months_and_iso_dates_are_read() {
    for (text, date) in [
        ("am 5.Okt.2026", "2026-10-05"),
        ("am 5. Okt. 2026", "2026-10-05"),
        ("am 03.Jän.2026", "2026-01-03"),
        ("am 3. Jänner 2026", "2026-01-03"),
        ("am 12. Febr. 2026", "2026-02-12"),
        ("am 12. Feb 2026", "2026-02-12"),
        ("am 2026/10/05", "2026-10-05"),
        ("2026/10/05 08:15", "2026-10-05"),
    ] {
        one(text, "date", date);
    }
    for text in ["2026/13/05", "2026/10-05", "2026/10/051", "12/2026/10/05", "2026/1184", "10.1.12.20"] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "date"), "{text}: {:?}", found(text));
    }
}

#[test]
fn ranges_share_the_last_day_s_parts() {
    let dates = |text: &str| found(text).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    for (text, expected) in [
        ("1.-3.6.2026", ["2026-06-03"].as_slice()),
        ("vom 1.–3.6.2024", &["2024-06-03"]),
        ("am 1./2.6.2024", &["2024-06-02"]),
        ("3.-5. Mai 2024", &["2024-05-05"]),
        ("1.6.-3.6.2024", &["2024-06-01", "2024-06-03"]),
        ("vom 1.6. bis 3.6.2024", &["2024-06-01", "2024-06-03"]),
        ("vom 1. Juni bis zum 3. Juni 2024", &["2024-06-01", "2024-06-03"]),
        ("20.12. - 5.1.2025", &["2024-12-20", "2025-01-05"]),
        ("3.5.2024-5.5.2024", &["2024-05-03", "2024-05-05"]),
        ("beantragt am 1.6. und am 3.6.2024", &["2026-06-01", "2024-06-03"]),
    ] {
        assert_eq!(dates(text), expected, "{text}");
    }
    for text in ["A-3.4.2026", "17-3.4.2026", "1.2.3.-4.5.2026", "1.2-3.4.2026"] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "date"), "{text}: {:?}", found(text));
    }
}

#[test]
fn street_named_after_day_is_no_date() {
    for text in [
        "Straße des 17. Juni 135",
        "in der Straße des 17. Juni 13 in Berlin",
        "Straße des 17. Juni 5",
        "am Platz des 18. März",
        "Platz der 9. November",
        "in der 1. Mai Straße",
        "1. Mai Str. 5",
        "im 20. Juli-Platz",
    ] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "date"), "{text}: {:?}", found(text));
    }
    for (text, date) in [
        ("am 1. Mai Straße gesperrt", "2026-05-01"),
        ("Straße gesperrt am 17. Juni 2026", "2026-06-17"),
        ("die Sperrung der Straße, Bescheid des 17. Juni 2026", "2026-06-17"),
        ("Straße des 17. Juni: gesperrt ab 3.5.2026", "2026-05-03"),
    ] {
        one(text, "date", date);
    }
}

#[test]
fn previous_sentence_does_not_date() {
    let dates = |text: &str| found(text).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    for first in ["20.11.2026", "20.11."] {
        let stop = if first.ends_with('.') { "" } else { "." };
        let text = format!("Wohngeld beantragt am {first}{stop} Bitte um Rückruf am 1.12.");
        assert_eq!(dates(&text), ["2026-11-20", "2026-12-01"], "{text}");
    }
    assert_eq!(
        dates("Am 20.11. Ihr Schreiben erhalten, am 21.11. beantwortet"),
        ["2026-11-20", "2026-11-21"]
    );
}
