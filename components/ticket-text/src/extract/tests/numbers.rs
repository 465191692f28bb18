use super::*;

#[test]
fn numbers_of_tickets_and_files_follow_their_words() {
    one("Aktenzeichen 503.884211.7, bitte", "file_number", "503.884211.7");
    one("Az. FE-2026-004711", "file_number", "FE-2026-004711");
    one("my reference number is 2026/1184", "file_number", "2026/1184");
    one("Ticket#20261184", "ticket_number", "20261184");
    one("[#4711] Antwort", "ticket_number", "4711");
    one("Ticket-Nr. 20261184", "ticket_number", "20261184");
    one("Vorgangs-Nr.: 88231", "file_number", "88231");
    for text in ["Aktenzeichen fehlt", "das Ticket kostet 3", "Referenz", "Der Satz 12345"] {
        assert_eq!(found(text), [], "{text}");
    }
}
