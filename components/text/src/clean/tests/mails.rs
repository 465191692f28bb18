//! Tests of whole mails as programs and servers write them: notices, forwards, heads and signatures.

use super::*;

const ASKED: &str = "Wann wird der Brunnen repariert?";

#[test]
fn notices_of_servers_go() {
    for notice in [
        "VORSICHT: Diese E-Mail kommt von außerhalb der Gemeinde. Öffnen Sie Anhänge nur nach Prüfung.\n\n",
        "[EXTERN]\n",
        "*** Externe E-Mail ***\nKlicken Sie nur auf bekannte Links.\n\n",
        "[External] This message came from outside the organization.\n-----------\n",
        "Sie erhalten nicht häufig E-Mails von pia@post.example. Erfahren Sie, warum dies wichtig ist\n\n",
        "WARNING: This email originated from outside of the council.\nDo not click links or open attachments.\n\n",
        "Diese Nachricht kommt von außerhalb des Landratsamts. Öffnen Sie keine Links.\n\n",
        "Achtung: Diese E-Mail kommt von einer externen Adresse.\n\n",
    ] {
        assert_eq!(clean(&format!("{notice}{ASKED}")), ASKED, "{notice}");
        assert_eq!(clean(&format!("{ASKED}\n\n-----------\n{notice}")), ASKED, "{notice}");
        let html = format!("<table><tr><td><b>{notice}</b></td></tr></table><div>{ASKED}</div>");
        assert_eq!(clean(&html), ASKED, "{html}");
    }
    for own in [
        "Ich habe eine externe E-Mail-Adresse angegeben.",
        "Der Gestank kommt von außerhalb des Parks.",
        "The water came from outside and froze.",
        "Kommt der Kollege von außerhalb der Stadt?",
        "Our external sender address has changed.",
    ] {
        assert_eq!(clean(own), own);
    }
}

#[test]
fn forwarded_mail_stays_below_its_comment() {
    let asked = "Am Spielplatz liegt Glas.";
    for forwarded in [
        "-------- Weitergeleitete Nachricht --------\nBetreff: Glas\nVon: Pia <pia@post.example>\nDatum: Mon, 5 Oct 2026 09:00:00 +0200\n\n",
        "---------- Forwarded message ---------\nVon: Pia <pia@post.example>\nDate: Mo., 5. Okt. 2026 um 09:00 Uhr\nTo: <amt@ort.example>\n\n\n",
        "----- Weitergeleitet von Empfang/Ort am 05.10.2026 09:00 -----\n\nVon:   Pia <pia@post.example>\nAn:    amt@ort.example\n\n",
        "Anfang der weitergeleiteten Nachricht:\n\n> Von: Pia <pia@post.example>\n> Datum: 5. Oktober 2026 um 09:00:00\n>\n> ",
        "============ Forwarded message ============\nFrom: Pia <pia@post.example>\nDate: Mon, 05 Oct 2026 09:00:00 +0200\nSubject: Glas\n============ Forwarded message ============\n\n",
        "Von: Empfang <e@ort.example>\nGesendet: Montag, 5. Oktober 2026 10:00\nBetreff: WG: Glas\n\nVon: Pia <pia@post.example>\nGesendet: Montag\nBetreff: Glas\n\n",
    ] {
        let cleaned = clean(&format!("Kannst du das bitte übernehmen?\n\nLG Kai\n\n{forwarded}{asked}"));
        assert!(cleaned.starts_with("Kannst du das bitte übernehmen?"), "{cleaned}");
        assert!(cleaned.ends_with(asked) && !cleaned.contains('@') && !cleaned.contains("Kai"), "{cleaned}");
    }
    let cited = "<p>Bitte prüfen, ob das stimmt.</p><blockquote type=\"cite\"><div>Begin forwarded message:</div>\
                 <div><b>From: </b>Pia &lt;pia@post.example&gt;</div><div><b>Subject: </b>Glas</div><br>\
                 <div>Am Spielplatz liegt Glas.</div></blockquote>";
    assert!(clean(cited).ends_with(asked), "{}", clean(cited));
    let reply = "Von: Amt <a@ort.example>\nGesendet: Montag, 5. Oktober 2026 10:00\nBetreff: AW: Glas\n\nWo liegt es?";
    assert_eq!(clean(&format!("Am Spielplatz.\n\n{reply}")), "Am Spielplatz.");
}

#[test]
fn old_mails_of_all_programs_go() {
    for head in [
        "---- On Tue, 6 Oct 2026 08:30:00 +0200 Amt <a@ort.example> wrote ----\n",
        "2026-10-06 8:30 GMT+02:00 Amt <a@ort.example>:\n",
        "6. Okt. 2026, 08:30 von a@ort.example:\n",
        "a@ort.example schrieb am Di., 6. Okt. 2026, 08:30:\n",
        "Am Di., 6. Okt. 2026 um 08:30 Uhr schrieb Amt für Grünflächen und\nSpielplätze in Musterort <\na@ort.example>:\n",
        "Amt <a@ort.example>, 6 Eki 2026 Sal, 08:30 tarihinde\nşunu yazdı:\n",
        "   Am Dienstag, 6. Oktober 2026 um 08:30:00 MESZ hat Amt <a@ort.example> Folgendes geschrieben:\n",
        "El mar, 6 oct 2026 a las 8:30, Amt (<a@ort.example>) escribió:\n",
        "De : Amt <a@ort.example>\nEnvoyé : mardi 6 octobre 2026 08:30\nÀ : Pia\nObjet : Fontaine\n",
        "Em ter., 6 de out. de 2026 às 08:30, Amt <a@ort.example> escreveu:\n",
        "út 6. 10. 2026 v 8:30 odesílatel Amt <a@ort.example> napsal:\n",
        "Amt <a@ort.example> ezt írta (időpont: 2026. okt. 6., K, 8:30):\n",
        "Στις Τρί 6 Οκτ 2026 στις 8:30 π.μ., ο χρήστης Amt <a@ort.example> έγραψε:\n",
        "في الثلاثاء، 6 أكتوبر 2026 8:30 ص Amt <a@ort.example> كتب:\n",
        "Från: Amt <a@ort.example>\nSkickat: den 6 oktober 2026 08:30\nTill: Pia\nÄmne: Brunn\n",
        "Od: Amt <a@ort.example>\nWysłano: wtorek, 6 października 2026 08:30\nDo: Pia\nTemat: Fontanna\n",
        "=== Please reply above this line ===\n",
    ] {
        for quote in ["\nWir kommen am Freitag.", "\n> Wir kommen am Freitag."] {
            assert_eq!(clean(&format!("{ASKED}\n\n{head}{quote}")), ASKED, "{head}");
        }
    }
}

#[test]
fn own_lines_with_addresses_are_kept() {
    for own in [
        "Am 5. Oktober schrieb ich Ihnen.\nSie riefen um 10:30 Uhr an.\nNun meine Fragen:",
        "5. Oktober 2026, 10:30 Uhr, Anfrage an a@ort.example, ohne Antwort:",
        "5. Oktober 2026, 10:30 an a@ort.example:",
        "2026-10-05 10:30 a@ort.example was sent this:",
        "Unter a@ort.example schrieb das Amt am 5.10.2026:",
        "Kai <kai@post.example> schrieb mir am 5.10.2026 um 10:30 Uhr:",
        "Am 5.10.2026 schrieb ich an a@ort.example:",
        "Am 5.10.2026 um 10:30 schrieben Sie:",
        "On 5 October 2026 at 10:30 I wrote to a@ort.example:",
    ] {
        let mail = format!("{own}\nWer zahlt?");
        assert_eq!(clean(&mail), mail);
    }
}

#[test]
fn passage_that_a_sender_cites_stays() {
    let mail = "Auf Ihrem Plakat steht:\n\n> Der Eintritt ist frei.\n\nMan hat aber Geld verlangt.";
    assert_eq!(clean(mail), mail);
}

#[test]
fn signatures_of_programs_go() {
    for signature in [
        "Von meinem Fairphone gesendet",
        "Von meinem/meiner Pixel gesendet",
        "Gesendet mit der WEB.DE Mail App",
        "Outlook für iOS<https://link.example/x> herunterladen",
        "Sent with Proton Mail secure email.",
        "--\nPia Probe | Probe GmbH",
        "Mit herbstlichen Grüßen\nPia Probe\n\nProbe GmbH",
        "Viele sonnige Grüße aus Musterort\nPia",
        "Herzlichen Dank und liebe Grüße\nPia Probe",
        "Es grüßt Sie freundlich\nPia Probe",
        "Many thanks,\nPia Probe",
        "thx\nPia",
        "Gesendet von meinem Probe Phone 7 Smartphone",
        "Freundliche Grüße\nPia Probe\n\nProbe GmbH\nIm Tal 4\nMusterort\n\nTel. 0\nFax 0\nMobil 0\n\nwww.probe.example\n\nGeschäftsführerin: Pia Probe\nHRB 0\nUSt-ID 0\n\nPsychologie für alle",
        "*** Diese E-Mail enthält vertrauliche Daten ***",
    ] {
        assert_eq!(clean(&format!("{ASKED}\n\n{signature}")), ASKED, "{signature}");
    }
    for marked in [
        "data-signature=\"true\"",
        "class=\"gmail_signature\"",
        "id=\"ms-outlook-mobile-signature\"",
        "class=\"io-ox-signature\"",
        "id=\"AppleMailSignature\"",
    ] {
        let html = format!("<div>{ASKED}</div><div {marked}>Pia Probe<br>Probe GmbH</div>");
        assert_eq!(clean(&html), ASKED, "{html}");
    }
    for own in [
        "Gesendet von der Post kam der Brief nie an.",
        "Outlook für Android öffnet Ihr Formular nicht.",
        "Sent from my old address, the letter came back.",
        "Bitte prüfen:\n\nVon meiner Bank wurde das Geld gesendet",
        "Please check:\n\nSent from my old and broken phone",
        "Bitte richten Sie Grüße an die Kollegin aus.",
        "Fehlt:\n-- Schlüssel\n-- Lampe",
        "Der Brunnen läuft.\nHerzlichen Dank für die Bank.\nDie Farbe blättert aber ab.",
    ] {
        assert_eq!(clean(own), own);
    }
}

#[test]
fn gendered_salutations_are_whole() {
    for salutation in ["Liebe Bürger:innen", "Sehr geehrte Kolleg*innen", "Liebe Mitarbeiter_innen"] {
        assert_eq!(clean(&format!("{salutation},\n\n{ASKED}")), ASKED);
    }
}

#[test]
fn mails_of_programs_are_empty() {
    for mail in [
        "Die Zustellung an folgende Empfänger ist fehlgeschlagen:\n\npia@post.example\nPostfach voll",
        "Mail delivery failed: returning message to sender\n\nA message could not be delivered.",
        "Guten Tag,\n\nvielen Dank für Ihre E-Mail. Ich bin bis Montag im Urlaub und ab Dienstag wieder erreichbar.",
        "I am out of the office until Monday. For anything urgent call my colleague.",
        "Automatische Antwort: Brunnen\n\nIch bin auf Reisen.",
        "Ihre Nachricht an pia@post.example konnte nicht zugestellt werden.\n\nPostfach voll",
        "Your message to pia@post.example couldn’t be delivered.",
        "I’m on annual leave until Monday. For anything urgent call my colleague.",
        "Accepted: Site visit\n\nWhen: Monday, 5 October 2026 10:00\nWhere: Town hall",
        "Your message\n\n   To: Office\n   Subject: Well\n\nwas read on Monday, 5 October 2026 10:00.",
        "Read: Well\n\nYour message\n\n   To: Office\n   Subject: Well\n\nwas read on Monday, 5 October 2026.",
        "Gelesen: Brunnen\n\nIhre Nachricht\n\nAn: Amt\nBetreff: Brunnen\n\nwurde am 05.10.2026 10:00 gelesen.",
        "Dies ist eine Empfangsbestätigung für die Nachricht, die Sie an amt@ort.example gesendet haben.",
        "Gelesen: Brunnen\n\nIhre Nachricht an das Amt wurde gelesen am 05.10.2026 10:00.",
        "Vielen Dank! Wir haben Ihre Nachricht erhalten. Das ist eine automatisch generierte Antwort.",
        "We have received your request. This is an automated message, please do not reply.",
        "Danke für Ihre Mail. Ich bin bis Montag nicht erreichbar, danach beantworte ich Ihre Mail.",
        "Thanks for your email! I am on parental leave and back on 3 May.",
        "--\nPia Probe\nProbe GmbH",
    ] {
        assert_eq!(clean(mail), "", "{mail}");
    }
    for mail in [
        "Danke für Ihre Nachricht. Ich bin im Urlaub und schicke die Karte am Montag.",
        "Automatische Antworten helfen mir nicht, bitte rufen Sie an.",
        "Mein Nachbar ist im Urlaub. In dringenden Fällen hat sein Sohn den Schlüssel, er heizt aber nicht.",
        "The caretaker is on holiday. In urgent cases nobody comes.",
        "Mail delivery failed again: who writes a new number on our house?",
        "Ich bin in dringenden Fällen abwesend gemeldet, was tun?",
        "Read: your letter about the well.\n\nThe date in it is wrong.",
        "Gelesen: Ihr Schreiben zum Brunnen.\n\nDas Datum darin stimmt nicht.",
        "Ich habe Ihre Nachricht erhalten, die automatisch erzeugt war. Der Brunnen läuft noch.",
        "Diese E-Mail wurde automatisch erstellt.\n\nMeldung: Der Brunnen läuft.",
        "Wir haben Ihre Nachricht erhalten und kommen am Montag zum Brunnen.",
        "Der Brunnen läuft.\n\nAm 5.10.2026 um 9:14 schrieb Amt:\n> Danke für Ihre Mail. Ich bin im Urlaub und ab Montag wieder \
         erreichbar.",
        "Ich bin tagsüber nicht erreichbar, in dringenden Fällen fragen Sie meine Frau.",
    ] {
        assert!(!parts(mail).is_automatic, "{mail}");
    }
}

#[test]
fn postscript_of_several_lines_stays() {
    for postscript in ["PS: Es eilt.\nDas Becken läuft aus.", "P. S. Es eilt.", "Nachtrag: Es eilt."] {
        let mail = format!("{ASKED}\n\nViele Grüße\nPia\n\n{postscript}\n\nProbe GmbH\nIm Tal 4");
        assert_eq!(clean(&mail), format!("{ASKED}\n\n{postscript}"));
    }
}

#[test]
fn forwarded_mail_does_not_sign_its_comment() {
    let mail = "Bitte übernehmen, danke!\n\n---------- Forwarded message ---------\nVon: Pia <pia@post.example>\n\
                Betreff: Brunnen\n\nWann läuft er?";
    assert_eq!(unquoted(mail), "Bitte übernehmen, danke!\n\n---\n\nBrunnen\n\nWann läuft er?");
}
