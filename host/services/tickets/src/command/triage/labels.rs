//! Checks the categories that tickets are labelled with.

use std::{collections::BTreeMap, path::Path};

use bulkhead_classifier::tickets::Ticket;
use bulkhead_triage_configuration::Configuration;

/// How many lines of a category an error names at most.
const MOST_LINES: usize = 5;

/// Returns the names of the configured categories.
pub(super) fn of(configuration: &Configuration) -> impl Iterator<Item = &str> {
    configuration.categories.iter().map(|category| category.name.as_str())
}

/// Checks that every ticket of `file` is labelled with one of the categories `known`.
///
/// # Errors
/// Names each other category, its lines, and a known category with a similar name.
pub(super) fn check(file: &Path, tickets: &[(usize, Ticket)], known: &[&str]) -> anyhow::Result<()> {
    let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (line, ticket) in tickets.iter().filter(|(_, ticket)| !known.contains(&ticket.category.as_str())) {
        lines.entry(&ticket.category).or_default().push(*line);
    }
    if lines.is_empty() {
        return Ok(());
    }
    let unknown: Vec<String> = lines.iter().map(|(name, lines)| describe(name, lines, known)).collect();
    anyhow::bail!(
        "{} names categories that are not configured; correct them, or pass --allow-unknown:\n- {}",
        file.display(),
        unknown.join("\n- ")
    )
}

/// Returns the line of an error for a category that is not configured.
fn describe(name: &str, lines: &[usize], known: &[&str]) -> String {
    let shown: Vec<String> = lines.iter().take(MOST_LINES).map(ToString::to_string).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = match lines.len().saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
    let hint = match near {
        Some((distance, known)) if distance <= 1 + name.chars().count() / 3 => {
            format!("; did you mean {known:?}")
        }
        _ => String::new(),
    };
    format!("{name:?} in {word} {}{more}{hint}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn unknown_category_is_reported_with_lines() {
        let ticket =
            |category: &str| Ticket { text: String::new(), category: category.to_owned(), language: None };
        let tickets: Vec<(usize, Ticket)> = ["waste", "waset", "none", "harbour", "waset"]
            .into_iter()
            .cycle()
            .take(18)
            .map(ticket)
            .enumerate()
            .map(|(index, ticket)| (index + 1, ticket))
            .collect();
        let known = ["none", "waste", "dogs"];
        let error = check(Path::new("a.jsonl"), &tickets, &known).unwrap_err().to_string();
        assert_eq!(
            error,
            "a.jsonl names categories that are not configured; correct them, or pass --allow-unknown:\n\
             - \"harbour\" in lines 4, 9, 14\n\
             - \"waset\" in lines 2, 5, 7, 10, 12 and 2 more; did you mean \"waste\""
        );
        check(Path::new("a.jsonl"), &tickets, &["none", "waste", "waset", "harbour"]).unwrap();
    }
}
