//! Prints how many personal values redaction replaces, by kind, on the set of the project or on the file that the
//! argument names.

use bulkhead_ticket_text::redact::recall::recall;

/// The project's own set.
const SET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/redaction/letters.jsonl");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| SET.to_owned());
    let recall = recall(&std::fs::read_to_string(file)?)?;
    for (kind, (found, all)) in &recall.kinds {
        println!("{kind}: {found} of {all}");
    }
    println!("changed without need: {} of {}", recall.changed, recall.harmless);
    Ok(())
}
