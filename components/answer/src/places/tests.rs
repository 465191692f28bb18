//! Tests of places that a ticket names and its answer does not.

use super::*;

fn found(ticket: &str, page: &str) -> Vec<String> {
    elsewhere(ticket, std::iter::once(page))
}

#[test]
fn other_towns_are_found() {
    assert_eq!(found("Was kostet ein Zelt in Bremen-Nord?", "Ein Zelt kostet 9 Euro."), ["Bremen"]);
    assert_eq!(found("zelt bremen preis", "Zelten in Kiel"), ["Bremen"]);
    assert_eq!(found("Zelten in St. Pölten oder Bremens Umland?", "Zelten"), ["Bremen", "St. Pölten"]);
    assert_eq!(found("How much is a tent in Prague?", "A tent is 9 EUR."), ["Prague"]);
}

#[test]
fn towns_of_the_page_are_its_own() {
    for page in
        ["Zelten in Köln", "Der Kölner Zeltplatz", "https://zelten.koeln.example/", "Zelten im Köln-Porz"]
    {
        assert_eq!(found("Was kostet ein Zelt in Köln?", page), Vec::<String>::new(), "{page}");
    }
    assert_eq!(found("How much is a tent in Cologne?", "Zelten in Köln"), Vec::<String>::new());
}

#[test]
fn words_that_name_towns_need_preposition() {
    assert_eq!(found("Gibt es Essen am Steg?", "Am Steg gibt es Fisch."), Vec::<String>::new());
    assert_eq!(found("Gibt es einen Steg in Essen?", "Am Steg gibt es Fisch."), ["Essen"]);
}

#[test]
fn other_offices_are_found() {
    assert_eq!(found("Hat das Finanzamt einen Steg?", "Der Steg ist frei."), ["finanzamt"]);
    assert_eq!(
        found("Hat das Finanzamt einen Steg?", "Der Steg gehört dem Finanzamt."),
        Vec::<String>::new()
    );
}

#[test]
fn other_years_are_found() {
    assert_eq!(found("Was kostete der Steg 2019?", "Seit 2024 kostet er 9 Euro."), ["2019"]);
    assert_eq!(found("Was kostet der Steg 2024?", "Seit 2024 kostet er 9 Euro."), Vec::<String>::new());
    for harmless in ["Ich war am 3. Mai 2019 da.", "Es waren 2019 Euro.", "Am 03.05.2019.", "Steg 4711"] {
        assert_eq!(found(harmless, "Der Steg."), Vec::<String>::new(), "{harmless}");
    }
}
