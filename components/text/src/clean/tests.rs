//! Tests of cleaned mails: quotes, closings, salutations and HTML.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod mails;

use super::*;

#[test]
fn a_letter_keeps_what_it_asks() {
    let letter = "Sehr geehrte Damen und Herren,\r\n\r\nunsere Tonne wurde nicht geleert.\u{a0}\r\nBirkenweg 14.\r\n\r\n\r\n\r\n\
                  Mit freundlichen Grüßen\r\nPetra Vogel\r\nTel. 0171 2345678";
    assert_eq!(clean(letter), "unsere Tonne wurde nicht geleert.\nBirkenweg 14.");
    assert_eq!(
        clean("Hallo liebes Team, der Ausweis ist weg. Danke und Gruß, Thomas Lang"),
        "Hallo liebes Team, der Ausweis ist weg."
    );
    assert_eq!(
        clean("Dear team,\n\nmy dog died.\n\nKind regards\nP. Novak\n\nPS: the tag is lost"),
        "my dog died.\n\nPS: the tag is lost"
    );
}

#[test]
fn parts_are_those_found_one_by_one() {
    let mails = [
        "Guten Tag,\n\nwo ist mein Pass?\n\nViele Grüße\nEva",
        "Wo ist er?\n\nVon: Amt <a@b.de>\nGesendet: Montag\nAn: Eva\nBetreff: Pass\n\nEr ist da.",
        "FYI\n\n-------- Weitergeleitete Nachricht --------\nBetreff: Pass\nVon: Eva <e@b.de>\n\nWo ist er?",
        "Automatische Antwort: Brunnen\n\nIch bin auf Reisen.",
        "> Er ist da.",
        "Viele Grüße\nEva",
        "",
    ];
    let mut automatic = 0;
    for mail in mails {
        let parts = parts(mail);
        automatic += usize::from(parts.is_automatic);
        assert_eq!(parts.unquoted, unquoted(mail), "{mail}");
    }
    assert_eq!(automatic, 1);
}

/// A sender who thanks in the middle of a letter continues with the request.
#[test]
fn thanks_need_a_signature_to_close() {
    for (letter, own) in [
        (
            "Der Pass ist da.\nVielen Dank dafür!\nNun brauche ich noch einen Parkausweis.\nWas kostet der?\nViele Grüße\nEva",
            "Der Pass ist da.\nVielen Dank dafür!\nNun brauche ich noch einen Parkausweis.\nWas kostet der?",
        ),
        ("Der Pass ist da.\nDanke für den Pass.\nDanke auch für die Mail.\nKommt die Tonne?", ""),
        ("The passport arrived.\nThanks for that!\nNow I need a parking permit.", ""),
        (
            "Der Pass ist da.\nVielen Dank.\nBitte um Parkausweis.\nViele Grüße\nEva",
            "Der Pass ist da.\nVielen Dank.\nBitte um Parkausweis.",
        ),
        ("Der Pass ist da.\nDanke. Jetzt brauche ich die Karte.", ""),
        ("Der Pass ist da. Danke. Jetzt brauche ich die Karte.", ""),
        (
            "Wo ist er?\nDanke im Voraus\n\nEva Brandt\nAmt für Soziales und Wohnen\nBirkenweg 14",
            "Wo ist er?",
        ),
        ("Wo ist er?\nVielen Dank für Ihre\nMühe\nLG Eva\nwir sind auch online für Sie da", "Wo ist er?"),
        ("where is it?\nthanks\neva brandt", "where is it?"),
    ] {
        assert_eq!(clean(letter), if own.is_empty() { letter } else { own });
    }
}

#[test]
fn a_title_does_not_end_a_salutation() {
    for greeting in [
        "Dear Mr. Smith,",
        "Dear Dr. Smith,",
        "Sehr geehrte Frau Dr. Müller-Lüdenscheidt,",
        "Sehr geehrter Herr Prof. Dr. Huber,",
        "Guten Tag Herr Dr. med. Huber,",
        "Sehr geehrte Damen und Herren, sehr geehrter Herr Dr. Maier-Schulz,",
    ] {
        assert_eq!(clean(&format!("{greeting}\nmy permit is missing")), "my permit is missing", "{greeting}");
    }
    assert_eq!(clean("Hallo. Die Tonne ist voll."), "Hallo. Die Tonne ist voll.");
    assert_eq!(
        clean("Guten Tag,\n\nliebe Kollegin, die Tonne ist voll."),
        "liebe Kollegin, die Tonne ist voll."
    );
}

#[test]
fn quoted_mails_go() {
    let german = "Danke, aber die Tonne ist wieder voll.\n\nAm 02.03.2026 um 09:14 schrieb Büro <b@stadt.example>:\n> Guten Tag,\n> wir kommen.\n";
    assert_eq!(clean(german), "Danke, aber die Tonne ist wieder voll.");
    let english = "Still no passport.\n\nOn Mon, 2 Mar 2026 at 09:14, Office <o@city.example> wrote:\n> We will be in touch.";
    assert_eq!(clean(english), "Still no passport.");
    let broken = "Danke.\n\nAm 02.03.2026 um 09:14 schrieb Bürgerbüro der Stadt\n<b@stadt.example>:\n\n> Guten Tag,\n> wir kommen.\n";
    assert_eq!(clean(broken), "Danke.");
    let unmarked =
        "Danke.\n\nAm 02.03.2026 um 09:14 schrieb Büro <b@stadt.example>:\n\nGuten Tag,\nwir kommen.";
    assert_eq!(clean(unmarked), "Danke.");
    let reported = "Danke.\n\nAm Montag schrieb mir das Amt:\nWir kommen.";
    assert_eq!(clean(reported), reported);
    let between = "Zu Ihrer Frage:\n> Wann war das?\nAm Montag.\n> Wo?\nIn der Lindenstraße.";
    assert_eq!(clean(between), "Zu Ihrer Frage:\nAm Montag.\nIn der Lindenstraße.");
    let outlook =
        "Bitte prüfen.\n\nVon: Amt\nGesendet: Montag\nAn: mich\nBetreff: Tonne\n\nAlter Text über Hunde";
    assert_eq!(clean(outlook), "Bitte prüfen.");
    assert_eq!(
        clean(&outlook.replace("Von:", "*Von:*").replace("Gesendet:", "*Gesendet:*")),
        "Bitte prüfen."
    );
    let original = "Neue Frage zum Pass.\n-----Original Message-----\nFrom: x\nalter Text";
    assert_eq!(clean(original), "Neue Frage zum Pass.");
}

#[test]
fn quotes_are_known_by_what_introduces_them() {
    for introduction in [
        "Bürgeramt <amt@stadt.example> schrieb am Di., 3. Nov. 2026, 10:22:",
        "Bürgeramt Beispielstadt <amt@stadt.example> schrieb am\nDi., 3. Nov. 2026, 10:22:",
        "Am 03.11.2026 schrieb Bürgeramt Beispielstadt:",
        "On 3 Nov 2026, City Office wrote:",
        "Le mar. 3 nov. 2026 à 10:22, Mairie <mairie@ville.example> a écrit :",
    ] {
        for quote in ["> Az. 2026/1234", "Az. 2026/1234", "\n> Az. 2026/1234", "\nAz. 2026/1234"] {
            let mail = format!("Ich brauche einen Ausweis.\n\n{introduction}\n{quote}");
            assert_eq!(clean(&mail), "Ich brauche einen Ausweis.", "{mail}");
        }
    }
    for reported in [
        "Frau Huber (huber@stadt.example) schrieb mir:\nSie müssen zahlen.\nStimmt das?",
        "Am 03.11.2026 schrieb mir das Amt:\nWir kommen.",
        "Am 03.11.2026 schrieben Sie:\nWir kommen.",
        "On 3 November 2026 you wrote:\nWe will come.",
    ] {
        assert_eq!(clean(reported), reported);
    }
}

#[test]
fn lines_of_a_head_may_be_paragraphs() {
    let head = "Von: Amt <amt@stadt.example>\n\nGesendet: Dienstag, 3. November 2026 10:22\n\nAn: mich\n\nBetreff: Hundesteuer";
    assert_eq!(
        clean(&format!("Ich brauche einen Ausweis.\n\n{head}\n\nAz. 2026/9988")),
        "Ich brauche einen Ausweis."
    );
    let html =
        "<p>Ausweis?</p><p><b>Von:</b> Amt</p><p><b>An:</b> ich</p><p><b>Betreff:</b> Tonne</p><p>Alt</p>";
    assert_eq!(clean(html), "Ausweis?");
}

#[test]
fn moving_form_is_not_a_header() {
    for text in [
        "Ich ziehe um.\nVon: Alte Gasse 1\nAn: Neue Gasse 2\nDatum: 01.12.2026\nTelefon 0171 2345678.",
        "I am moving.\nFrom: Old Street 1\n\nTo: New Street 2\n\nDate: 1 December\nCall me.",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn uncommented_forwarded_mail_is_the_request() {
    for rule in [
        "-------- Weitergeleitete Nachricht --------",
        "-------- Forwarded Message --------",
        "-----Ursprüngliche Nachricht-----",
        "---- Original Message ----",
    ] {
        let head =
            "Betreff: Sperrmüll\nDatum: Tue, 3 Nov 2026 10:22:00 +0100\nVon: Max <max@x.example>\nAn: amt";
        assert_eq!(clean(&format!("{rule}\n{head}\n\nWann kommt er?")), "Sperrmüll\n\nWann kommt er?");
        let forwards = rule.contains("Weitergeleitete") || rule.contains("Forwarded");
        let left = if forwards { "Bitte.\n\nSperrmüll\n\nWann kommt er?" } else { "Bitte." };
        assert_eq!(clean(&format!("Bitte.\n\n{rule}\n{head}\n\nWann kommt er?")), left);
    }
    let forwarded = "---------- Forwarded message ---------\nFrom: Anna <a@b.example>\nDate: Mon\nSubject: Fwd: Re: Lost dog tag\nTo: <office@city.example>\n\n\
                     Please send a new tag.";
    assert_eq!(clean(forwarded), "Lost dog tag\n\nPlease send a new tag.");
}

#[test]
fn subjects_stay_without_their_name() {
    assert_eq!(clean("Betreff: AW: Sperrmüll\n\nWann kommt er?"), "Sperrmüll\n\nWann kommt er?");
}

#[test]
fn a_signature_stays_where_only_quotes_go() {
    let mail = "Neue Frage.\n\nMit freundlichen Grüßen\nPetra Vogel\n\nVon: Amt <amt@stadt.example>\nGesendet: Montag\nAn: mich\n\nAz. 4711";
    assert_eq!(unquoted(mail), "Neue Frage.\n\nMit freundlichen Grüßen\nPetra Vogel");
    assert_eq!(unquoted("> Az. 4711"), "");
}

#[test]
fn disclaimers_and_telephones_go() {
    let text = "Wo ist mein Auto?\n\nVon meinem iPhone gesendet";
    assert_eq!(clean(text), "Wo ist mein Auto?");
    let text = "Where is my car?\n\nThis e-mail and any attachments are confidential. If you are not\nthe recipient, delete it.";
    assert_eq!(clean(text), "Where is my car?");
}

#[test]
fn a_text_of_nothing_else_stays() {
    assert_eq!(clean("Mit freundlichen Grüßen\nPetra Vogel"), "Mit freundlichen Grüßen\nPetra Vogel");
    assert_eq!(clean("> nur ein Zitat"), "> nur ein Zitat");
    assert_eq!(clean("Hallo!"), "Hallo!");
    assert_eq!(clean(" \n\u{feff}"), "");
}

#[test]
fn similar_words_are_not_removed() {
    for text in [
        "Liebe zu Hunden ist keine Steuer wert, finde ich",
        "Danke für Ihre Antwort, aber der Bescheid, den Sie mir am Montag geschickt haben, ist falsch",
        "Hinweis: das Schild fehlt",
        "Von: hier bis dort ist die Straße kaputt",
        "Datum: 3. Mai\n\nDa wurde die Tonne nicht geleert",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn html_becomes_text() {
    let html = "<html><head><style>p { color: red } <p>x</style><title>Mail</title></head><body><p>Gr&uuml;ne&nbsp;Tonne<br>ist \
                <b>voll</b>.</p><script>if (a < b) alert('x')</script><ul><li>eins</li><li>zwei</li></ul></body></html>";
    assert_eq!(render(html).plain, "Grüne Tonne\nist voll.\n\n- eins\n- zwei");
    let reply = "<div>Neue Frage.</div><div>Am 1.1.2026 schrieb Amt:</div><blockquote><p>Alt</p><p>Älter</p></blockquote>";
    assert_eq!(clean(reply), "Neue Frage.");
}

#[test]
fn tables_of_html_have_rows() {
    let html = "<table><tr><th>Name</th><td>Eva<td><p>Frau <b>Brandt</b></p>Hof</tr>\
                <tr><td hidden>x<table><tr><td>innen</table></table>";
    assert_eq!(rows(html), [vec!["Name", "Eva", "Frau Brandt\n\nHof"], vec![""], vec![""]]);
    assert_eq!(render(html).plain, "Name Eva\n\nFrau Brandt\n\nHof");
    assert_eq!(rows("<p>a</p><td>b"), Vec::<Vec<String>>::new());
    assert_eq!(rows("a | b"), Vec::<Vec<String>>::new());
    let quoted =
        "<p>Neue Frage.</p><blockquote><table><tr><td>Az.</td><td>4711</td></tr></table></blockquote>";
    assert_eq!(clean(quoted), "Neue Frage.");
}

#[test]
fn angle_brackets_make_no_html() {
    for text in [
        "a < b und c > d, Anna <a@b.example>",
        "Bernd Brandt <brandt@b.example>\nschrieb",
        "Divya <divya@b.example>\nschrieb",
        "Aus <b> wird <ort>.\nDanke </3",
    ] {
        assert_eq!(render(text).plain, text);
    }
}

#[test]
fn any_element_of_a_body_makes_html() {
    for html in [
        "<ol><li>Der Brunnen</li></ol>",
        "- <b>Der</b> Brunnen",
        "<P\nclass=x>- Der Brunnen",
        "- Der Brunnen<img src='cid:x'>",
        "- Der <a class=x href='https://b.example'>Brunnen</a>",
        "<pre>- Der Brunnen</pre>",
        "<h2>- Der Brunnen</h2>",
    ] {
        assert_eq!(render(html).plain, "- Der Brunnen", "{html}");
    }
}

#[test]
fn broken_html_still_gives_its_text() {
    assert_eq!(render("<div><p>Hallo <b>Welt").plain, "Hallo Welt");
    assert_eq!(render("<p title=\"x>nie zu Ende").plain, "");
    assert_eq!(render("<div></blockquote></div>ok &unknown; &#x110000;").plain, "ok &unknown; \u{fffd}");
}

#[test]
fn hidden_html_is_reported_separately() {
    for hiding in [
        "style=\"display:none\"",
        "style='color:red; DISPLAY : None !important'",
        "style=\"visibility:hidden\"",
        "style=\"font-size:0\"",
        "style=\"font-size:0.0em\"",
        "style=\"font-size:1px\"",
        "style=\"opacity:0\"",
        "style=\"display:/* x */none\"",
        "style=\"font:0/0 a\"",
        "style=\"color:transparent\"",
        "style=\"max-height:0px;overflow:hidden\"",
        "style=\"position:absolute;left:-9999px\"",
        "hidden",
        "HIDDEN=\"\"",
    ] {
        for element in ["p", "div", "span", "section", "font"] {
            let html = format!("Wo ist die Tonne?<{element} {hiding}>Sag <b>&#74;a</b>.</{element}> Danke.");
            let Rendered { plain, hidden } = render(&html);
            assert_eq!(hidden, "Sag Ja.", "{html}");
            assert!(!plain.contains("Ja") && plain.ends_with("Danke."), "{plain}");
        }
    }
}

#[test]
fn what_html_shows_is_not_hidden() {
    for html in [
        "<p style=\"font-size:10px; opacity:0.5; height:0\">Tonne</p>",
        "<p style=\"font: bold 10px/1.0 Arial; color: white; margin: 0\">Tonne</p>",
        "<p style=\"display:block\" class=\"hidden\" aria-hidden=\"true\">Tonne</p>",
        "<p hidden></p><p style=\"font-size:1em\">Tonne</p>",
        "<img hidden><input type=hidden>Tonne<br hidden>",
        "<style>p { display:none }</style><title>x</title><p>Tonne</p>",
        "Tonne, a < b hidden > c",
        "Tonne",
    ] {
        let Rendered { plain, hidden } = render(html);
        assert_eq!(hidden, "", "{html}");
        assert!(plain.contains("Tonne"), "{html}");
    }
}

/// Few mails close their elements.
#[test]
fn what_is_hidden_ends_with_its_element() {
    for (html, seen) in [
        ("<p hidden>a<p>b", "b"),
        ("<div><p hidden>a</div>b", "b"),
        ("<ul><li hidden>a<li>b</ul>", "- b"),
        ("<div hidden>a<div>b</div>c</div>d", "d"),
        ("<div hidden>a</span></b>b</div>c", "c"),
    ] {
        assert_eq!(render(html).plain, seen, "{html}");
    }
    let deep = format!("{}tief{}", "<b>".repeat(100_000), "</i>".repeat(100_000));
    assert_eq!(render(&format!("<p>{deep}</p>")).plain, "tief");
}

#[test]
fn letters_and_their_marks_are_one_character() {
    assert_eq!(clean("Fu\u{308}hrerschein vom 3. Ma\u{308}rz"), "Führerschein vom 3. März");
    assert_eq!(clean("<p>Gru\u{308}ne Tonne</p>"), "Grüne Tonne");
}

#[test]
fn a_ticket_of_heads_alone_is_read() {
    let heads = "Von: a\n".repeat(3_000);
    assert_eq!(clean(&heads), heads.trim());
}

#[test]
fn forwarding_note_keeps_the_mail() {
    let head = "---------- Weitergeleitete Nachricht ---------\nVon: Max <max@x.example>\nDatum: 2. März 2026\nBetreff: Hundesteuer\nAn: <amt@stadt.example>\n\n";
    let mail = format!("{head}Bitte melden Sie meinen Hund ab.");
    let cleaned = clean(&format!("Bitte bearbeiten.\n\n{mail}"));
    assert!(cleaned.starts_with("Bitte bearbeiten."), "{cleaned}");
    assert!(cleaned.ends_with("Bitte melden Sie meinen Hund ab.") && !cleaned.contains('@'), "{cleaned}");
    let asked =
        "Ich habe diese Mail von Ihnen bekommen und verstehe sie nicht. Wie melde ich mein Gewerbe ab?";
    assert_eq!(clean(&format!("{asked}\n\n{mail}")), asked);
    let quoted = "Danke, erledigt.\n\n-----Ursprüngliche Nachricht-----\nVon: Amt\nGesendet: heute\nBetreff: Hund\n\nAlt";
    assert_eq!(clean(quoted), "Danke, erledigt.");
}
