#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use fastrand::Rng;

use super::*;

const LETTER: &str = "Sehr geehrte Frau Dr. Huber,\n\nmein Name ist Petra Vogel, geboren am 12.03.1951. Ich wohne im Birkenweg 14 a, \
                      80331 München. Am 20.11.2026 habe ich unter Aktenzeichen 503.884211.7 Wohngeld beantragt, Ticket#20261184. \
                      Mein Auto M-AB 1234 steht dort. Konto DE89 3704 0044 0532 0130 00, sonst DE89 3704 0044 0532 0130 01.\n\n\
                      Mit freundlichen Grüßen\nPetra Vogel\nTel. 0171 2345678, p.vogel@post.example";

#[test]
fn a_letter_loses_what_is_personal_and_keeps_what_it_asks() {
    let redacted = redact(LETTER);
    assert_eq!(
        redacted.text(),
        "Sehr geehrte Frau Dr. [NAME_1],\n\nmein Name ist [NAME_2], geboren am [BIRTHDATE_1]. Ich wohne im [ADDRESS_1], \
         [ADDRESS_2]. Am 20.11.2026 habe ich unter Aktenzeichen [FILE_1] Wohngeld beantragt, Ticket#[TICKET_1]. \
         Mein Auto [PLATE_1] steht dort. Konto [IBAN_1], sonst [IBAN_2].\n\n\
         Mit freundlichen Grüßen\n[NAME_2]\nTel. [PHONE_1], [EMAIL_1]"
    );
    assert_eq!(redacted.restore(redacted.text()), LETTER);
}

#[test]
fn values_go_back_into_what_is_said_of_them() {
    let redacted = redact("Hello, my name is Eva Brandt, write to eva@example.org");
    assert_eq!(
        redacted.restore("[NAME_1] wants mail at [EMAIL_1], not [EMAIL_2] or [NAME_1"),
        "Eva Brandt wants mail at eva@example.org, not [EMAIL_2] or [NAME_1"
    );
}

#[test]
fn tokens_of_another_text_are_told_with_their_values() {
    let redacted = redact("Hello, my name is Eva Brandt");
    let tokens: Vec<_> = redacted.tokens("[NAME_1], [IBAN_3] and [1]").collect();
    assert_eq!(tokens, [("[NAME_1]", Some("Eva Brandt")), ("[IBAN_3]", None)]);
}

#[test]
fn names_are_taken_where_they_are_sure() {
    for (text, expected) in [
        ("Hallo Herr Meier, danke", "Hallo Herr [NAME_1], danke"),
        ("Liebe Petra,\nwo ist die Tonne?", "Liebe [NAME_1],\nwo ist die Tonne?"),
        ("Dear Mr Smith, where is my bin?", "Dear Mr [NAME_1], where is my bin?"),
        ("Die Tonne ist weg. Danke und Gruß, Thomas Lang", "Die Tonne ist weg. Danke und Gruß, [NAME_1]"),
        ("Where is it?\nKind regards\n\nEva van der Berg", "Where is it?\nKind regards\n\n[NAME_1]"),
        ("Guten Tag Siegfried!\nIhr Antrag", "Guten Tag [NAME_1]!\nIhr Antrag"),
        ("Name: Vogel\nDie Akte Vogel fehlt", "Name: [NAME_1]\nDie Akte [NAME_1] fehlt"),
        ("LG\nJosé Ñandú-García", "LG\n[NAME_1]"),
    ] {
        assert_eq!(redact(text).text(), expected);
    }
    for text in [
        "Sehr geehrte Damen und Herren,\nwo ist die Tonne?",
        "Hallo liebes Team, der Ausweis ist weg",
        "Dear Sir or Madam,\nplease help",
        "Vielen Dank im Voraus!",
        "Wann hat der Wertstoffhof am 3. Mai 2026 offen? Es waren 10000 Euro.",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn what_looks_like_a_token_is_one_itself() {
    let text = "[EMAIL_1] and [email_7], but mine is eva@example.org";
    let redacted = redact(text);
    assert_eq!(redacted.text(), "[LITERAL_1] and [LITERAL_2], but mine is [EMAIL_1]");
    assert_eq!(redacted.restore(redacted.text()), text);
    assert_eq!(
        redacted.restore("send it to [LITERAL_1]"),
        "send it to [EMAIL_1]",
        "restored once, not twice"
    );
}

#[test]
fn numbers_without_a_form_are_kept_back_too() {
    for text in ["Pass 123456789", "Kunde 12 34 56 78", "Karte 4111 1111 1111 1111", "xeva@localhost"] {
        assert!(redact(text).text().contains("_1]"), "{text}");
    }
    assert_eq!(redact("am 03.05.2026 um 10 Uhr").text(), "am 03.05.2026 um 10 Uhr");
}

#[test]
fn nothing_of_it_is_printed() {
    assert!(!format!("{:?}", redact("eva@example.org")).contains("eva"));
}

/// What texts are put together from: values, halves of values, tokens, and what joins them.
const PIECES: [&str; 44] = [
    "[EMAIL_1]",
    "[NAME_2]",
    "[EMAIL_",
    "1]",
    "[",
    "]",
    "_1]",
    "[LITERAL_1]",
    "eva@example.org",
    "@",
    "a@b.de",
    "0171 2345678",
    "089",
    "12345678",
    "DE89 3704 0044 0532 0130 00",
    "DE89",
    "12.03.1951",
    "geboren am ",
    "* ",
    "Frau ",
    "Herr Dr. ",
    "Petra",
    "Vogel",
    "Petra Vogel",
    "Lang",
    "langsam",
    "Birkenweg 14",
    "Birkenweg ",
    "14",
    "80331 München",
    "M-AB 1234",
    "Ticket#20261184",
    "Az. ",
    "503.884211.7",
    "\nMit freundlichen Grüßen\n",
    "\n",
    " ",
    " ",
    ", ",
    ".",
    "ß",
    "İ",
    "\u{301}",
    "Name: ",
];

/// Without its tokens: what of the text has stayed.
fn kept(redacted: &Redacted) -> String {
    TOKEN.as_ref().unwrap().replace_all(redacted.text(), "\0").into_owned()
}

fn is_whole(text: &str, at: usize, value: &str) -> bool {
    let letter = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
    !letter(text[..at].chars().next_back()) && !letter(text[at + value.len()..].chars().next())
}

#[test]
fn whatever_the_text_it_comes_back_whole_and_no_value_stays() {
    let mut random = Rng::with_seed(20_261_128);
    for _ in 0..4_000 {
        let count = random.usize(..24);
        let text: String = (0..count).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let redacted = redact(&text);
        assert_eq!(redacted.restore(redacted.text()), text, "{text:?}");
        let kept = kept(&redacted);
        for (token, value) in redacted.originals() {
            let stays = kept
                .match_indices(value)
                .any(|(at, _)| !token.starts_with("[NAME_") || is_whole(&kept, at, value));
            assert!(!stays, "{value:?} of {text:?} stays in {:?}", redacted.text());
        }
        let tokens = TOKEN.as_ref().unwrap().find_iter(redacted.text());
        for token in tokens {
            assert!(redacted.originals.contains_key(token.as_str()), "{text:?} forges {}", token.as_str());
        }
    }
}

/// A text of nothing but values is bounded work.
#[test]
fn many_values_are_taken_out() {
    let text: String = (0..1500).map(|number| format!("a{number}@example.org ")).collect();
    let redacted = redact(&text);
    assert_eq!(redacted.originals().count(), 1500);
    assert_eq!(redacted.restore(redacted.text()), text);
}
