#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn a_page_becomes_paragraphs_without_what_stands_around_it() {
    let page = html::render(
        "<!doctype html><html lang=de-DE><head><title>Parken &amp; Halten</title><style>p{x:'<p>'}</style></head>
         <body><nav><a href=/>Start</a></nav><h1>Ausweis</h1><p>Kostet   <b>30</b>&nbsp;Euro.<p>Zweiter Absatz.
         <ul><li>Antrag</li><li>Foto</li></ul><table><tr><td>Mo</td><td>8 Uhr</td></tr></table>
         <script>if (a < b) { alert('</p>') }</script></body></html>",
    );
    assert_eq!(page.title.as_deref(), Some("Parken & Halten"));
    assert_eq!(page.language.as_deref(), Some("de-DE"));
    let text = "Ausweis\n\nKostet 30 Euro.\n\nZweiter Absatz.\n\n- Antrag\n- Foto\n\nMo 8 Uhr";
    assert_eq!(page.text, text);
}

#[test]
fn markdown_loses_its_marks_and_keeps_its_words() {
    let page = markdown::render(
        "# Hundesteuer\n\nSie *beträgt* [120 Euro](https://example.org).\n\n- `Formular`\n\n| a | b |\n|---|---|\n| c | d |\n",
    );
    assert_eq!(page.title.as_deref(), Some("Hundesteuer"));
    assert_eq!(page.text, "Hundesteuer\n\nSie beträgt 120 Euro.\n\n- Formular\n\na b\nc d");
}

#[test]
fn what_is_struck_out_is_not_the_page_s_text() {
    let page = html::render(
        "<p><del>Ab 6 Uhr.</del> Ab 8 Uhr.</p><p><s>15 Euro</s> 25 <strike>Cent</strike> Euro<del><p>Alt.</p></del>",
    );
    assert_eq!(page.text, "Ab 8 Uhr.\n\n25 Euro");
    assert_eq!(markdown::render("~~Es kostet 15 Euro.~~ Es kostet 25 Euro.").text, "Es kostet 25 Euro.");
}

#[test]
fn invisible_characters_go() {
    assert_eq!(visible("a\0b\u{200b}c  \r\n\r\n\r\n\td\u{202e}"), "abc\n\n d");
    assert_eq!(one_line(" a\0 b\n c\t"), "a b c");
}

#[test]
fn the_language_is_told_or_left_open() {
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
