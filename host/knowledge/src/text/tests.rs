//! Tests of plain text from HTML and Markdown.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn page_becomes_paragraphs_without_navigation() {
    let page = html::render(
        "<!doctype html><html lang=de-DE><head><title>Parken &amp; Halten</title><style>p{x:'<p>'}</style></head>
         <body><nav><a href=/>Start</a></nav><h1>Ausweis</h1><p>Kostet   <b>30</b>&nbsp;Euro.<p>Zweiter Absatz.
         <ul><li>Antrag</li><li>Foto</li></ul><table><tr><td>Mo</td><td>8 Uhr</td></tr></table>
         <script>if (a < b) { alert('</p>') }</script></body></html>",
    );
    assert_eq!(page.title.as_deref(), Some("Parken & Halten"));
    assert_eq!(page.language.as_deref(), Some("de-DE"));
    let text = "Ausweis\n\nKostet 30 Euro.\n\nZweiter Absatz.\n\n- Antrag\n- Foto\n\nMo: 8 Uhr.";
    assert_eq!(page.text, text);
}

#[test]
fn markdown_becomes_plain_text() {
    let page = markdown::render(
        "# Hundesteuer\n\nSie *beträgt* [120 Euro](https://example.org).\n\n- `Formular`\n\n| a | b |\n|---|---|\n| c | d |\n",
    );
    assert_eq!(page.title.as_deref(), Some("Hundesteuer"));
    assert_eq!(page.text, "Hundesteuer\n\nSie beträgt 120 Euro.\n\n- Formular\n\na\n\nc: b d.");
}

#[test]
fn table_row_becomes_a_sentence() {
    let table = "| Eintritt | bis 17 Jahre | ab 18 Jahre | Familien |\n|---|---|---|---|\n\
        | Einzelkarte für das Hallenbad | 2,00 Euro | 5,00 Euro | 9,00 Euro |\n\
        | Zehnerkarte | 18,00 Euro | | 80,00 Euro |\n| | 1,00 Euro |\n| Zutritt für Hunde |\n";
    assert_eq!(
        markdown::render(table).text,
        "Eintritt\n\nEinzelkarte für das Hallenbad: bis 17 Jahre 2,00 Euro, ab 18 Jahre 5,00 Euro, Familien 9,00 Euro.\n\n\
         Zehnerkarte: bis 17 Jahre 18,00 Euro, Familien 80,00 Euro.\n\nbis 17 Jahre 1,00 Euro.\n\nZutritt für Hunde."
    );
    assert_eq!(markdown::render("| Zone | Preis |\n|---|---|\n| 1 | 2 |").text, "Zone 1: Preis 2.");
    // No sentence's end is left to what the values look like.
    let rooms = "<table><tr><td>Standesamt<td>Zimmer 12<tr><td>Fundbüro<td>Zimmer 3, Erdgeschoss<td>Mo<br>Di</table>Ende";
    assert_eq!(
        html::render(rooms).text,
        "Standesamt: Zimmer 12.\n\nFundbüro: Zimmer 3, Erdgeschoss; Mo, Di.\n\nEnde"
    );
}

#[test]
fn spanning_cells_repeat() {
    let table = "<table><caption>Preise</caption><thead><tr><th rowspan=2>Karte<th colspan=2>Eintritt<th rowspan=2>Ort
        <tr><th>Kinder<th>Erwachsene</thead>
        <tr><th colspan=4>Hallenbad
        <tr><td rowspan=2>Einzelkarte<td>2 Euro<td>5 Euro<td>Nord
        <tr><td colspan=2>frei<td>Süd
        <tr><td colspan=4>Alle Preise gelten bis Mai.
        <tr><td colspan=4>Sauna
        <tr><td>Abend<td>nein<td>12 Euro<td></table>";
    assert_eq!(
        html::render(table).text,
        "Preise\n\nKarte\n\n\
         Hallenbad, Einzelkarte: Eintritt Kinder 2 Euro, Eintritt Erwachsene 5 Euro, Ort Nord.\n\n\
         Hallenbad, Einzelkarte: Eintritt Kinder frei, Eintritt Erwachsene frei, Ort Süd.\n\n\
         Alle Preise gelten bis Mai.\n\n\
         Sauna, Abend: Eintritt Kinder nein, Eintritt Erwachsene 12 Euro."
    );
    let named = "<table><tr><th>Kosten<td>37 Euro<tr><th>Dauer<td></table>";
    assert_eq!(html::render(named).text, "Kosten: 37 Euro.\n\nDauer.");
    let headings = "<table><tr><td>A<td>b<tr><th>Tag<th>Zeit</table>";
    assert_eq!(html::render(headings).text, "A: b.\n\nTag, Zeit");
}

#[test]
fn layout_table_stays_text() {
    let text = |page: &str| html::render(page).text;
    assert_eq!(text("<table><tr><td></td><td>Ein Satz.</td></tr></table>"), "Ein Satz.");
    assert_eq!(text("<table><tr><td>Eins.<tr><td>Zwei</table>"), "Eins.\n\nZwei");
    assert_eq!(
        text("<table><tr><td>Links<td><p>Erstens.<p>Zweitens.</table>"),
        "Links\n\nErstens.\n\nZweitens."
    );
    assert_eq!(
        text("<table><tr><th>Unterlagen<tr><td>Foto<tr><td>Pass</table>"),
        "Unterlagen:\n- Foto\n- Pass"
    );
    let nested = "<table><tr><td><table><tr><td>Mo<td>8 Uhr<tr><td>Di<td>9 Uhr</table></td><td>Rand</td></tr></table>Ende";
    assert_eq!(text(nested), "Mo: 8 Uhr.\n\nDi: 9 Uhr.\n\nRand\n\nEnde");
    // Broken or endless, nothing is lost and nothing takes for ever.
    assert_eq!(text("<td>a</td></table></tr><table>b<tr><td>c<table><tr><td>d"), "a\n\nb\n\nc\n\nd");
    let deep = format!("{}tief{}Ende", "<table><tr><td>".repeat(50_000), "</table>".repeat(50_000));
    assert_eq!(text(&deep), "tief\n\nEnde");
    let wide =
        format!("<table><tr><td rowspan=9999>{}", "<tr><td colspan=9999 rowspan=9999>x".repeat(20_000));
    assert!(text(&wide).len() < 10_000_000);
}

#[test]
fn list_items_have_own_lines() {
    assert_eq!(markdown::render("Mit:\n\n- eins\n\n- zwei\n").text, "Mit:\n\n- eins\n\n- zwei");
    assert_eq!(html::render("<ul><li><p>eins</p><li></li></ul><p>Ende").text, "- eins\n\nEnde");
    assert_eq!(html::render("<dl><dt>Mo<dd>8 Uhr<dt>Di<dd>9 Uhr</dl>").text, "Mo\n8 Uhr\n\nDi\n9 Uhr");
}

#[test]
fn parts_of_a_page_have_own_lines() {
    let page =
        html::render("Oben<header>Kopf</header>Hinten<center>Mitte</center><figcaption>Bild</figcaption>");
    assert_eq!(page.text, "Oben\nKopf\nHinten\nMitte\nBild");
}

#[test]
fn fragments_below_headings_become_items() {
    let text = |page: &str| html::render(page).text;
    let page =
        "<h2>Gebühren</h2><p>13 Euro</p>\n<h2>Dauer</h2><p>Drei <b>Wochen</b> <p>Sofort im Amt<br></p>";
    assert_eq!(text(page), "Gebühren\n\n- 13 Euro\n\nDauer\n\n- Drei Wochen\n\n- Sofort im Amt");
    assert_eq!(
        text("<h2>Ort</h2>Amt<h3>Zeit</h3><p>\u{200b} Mai</p>"),
        "Ort\n\n- Amt\n\nZeit\n\n- \u{200b} Mai"
    );
    // Sentences, lines that announce something, and bold lines stay what they are.
    let others = "<h2>Pass</h2><p>Er kostet 70 Euro.</p><p>Wie lange?</p><p>Mit:</p><p><strong>Foto</strong></p>\
                  <p>Unterlagen</p><ul><li>Pass</ul><p>20 Euro</p><ul><li>bar</ul><p>Bar<br>Karte</p>";
    assert_eq!(
        text(others),
        "Pass\n\nEr kostet 70 Euro.\n\nWie lange?\n\nMit:\n\nFoto\n\nUnterlagen\n\n- Pass\n\n- 20 Euro\n\n- bar\n\nBar\nKarte"
    );
    // Without headings of its own a page may write them as paragraphs.
    assert_eq!(
        text("<h1>Pass</h1><p>Gebühren</p><p>Er kostet 70 Euro.</p>"),
        "Pass\n\nGebühren\n\nEr kostet 70 Euro."
    );
    assert_eq!(
        text("<h2>A</h2><table><tr><td><p>Eins<tr><td>Zwei</table><p>Drei"),
        "A\n\nEins\n\nZwei\n\n- Drei"
    );
    assert_eq!(
        markdown::render("## Gebühr\n\n13 Euro\n\n## Ort\n\nAmt\n").text,
        "Gebühr\n\n- 13 Euro\n\nOrt\n\n- Amt"
    );
}

#[test]
fn struck_text_is_dropped() {
    let page = html::render(
        "<p><del>Ab 6 Uhr.</del> Ab 8 Uhr.</p><p><s>15 Euro</s> 25 <strike>Cent</strike> Euro<del><p>Alt.</p></del>",
    );
    assert_eq!(page.text, "Ab 8 Uhr.\n\n25 Euro");
    assert_eq!(markdown::render("~~Es kostet 15 Euro.~~ Es kostet 25 Euro.").text, "Es kostet 25 Euro.");
}

#[test]
fn invisible_characters_are_removed() {
    assert_eq!(visible("a\0b\u{200b}c  \r\n\r\n\r\n\td\u{202e}"), "abc\n\n d");
    assert_eq!(one_line(" a\0 b\n c\t"), "a b c");
}

#[test]
fn language_is_detected_or_unknown() {
    assert_eq!(
        language("Der Antrag muss vor dem Umzug schriftlich beim Amt gestellt werden, sonst verfällt er."),
        Some("de")
    );
    assert_eq!(
        language("You have to hand in the application in writing before you move to another flat."),
        Some("en")
    );
    assert_eq!(language("42"), None);
}
