//! Strongly connected components of a small directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// Returns each set of two or more nodes that all reach each other, in order.
pub fn circles(edges: &BTreeSet<(String, String)>) -> Vec<BTreeSet<String>> {
    let nodes: BTreeSet<&String> = edges.iter().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        nodes.iter().map(|node| (*node, reachable(node, edges))).collect();
    let circle = |node: &&String| -> BTreeSet<String> {
        let both = reached[node].iter().filter(|other| reached[*other].contains(node));
        both.map(|other| (*other).clone()).collect()
    };
    let circles: BTreeSet<BTreeSet<String>> =
        nodes.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    circles.into_iter().collect()
}

/// Nodes that a walk of one or more edges reaches.
fn reachable<'e>(start: &'e String, edges: &'e BTreeSet<(String, String)>) -> BTreeSet<&'e String> {
    let mut found = BTreeSet::new();
    let mut next = vec![start];
    while let Some(node) = next.pop() {
        next.extend(
            edges.iter().filter(|(from, _)| from == node).map(|(_, to)| to).filter(|to| found.insert(*to)),
        );
    }
    found
}

#[cfg(test)]
fn graph(edges: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
}

#[test]
fn chain_has_no_circle() {
    assert!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
}

#[test]
fn circles_are_found_apart() {
    let edges = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("e", "f")]);
    let found: Vec<String> =
        circles(&edges).into_iter().map(|circle| Vec::from_iter(circle).join(" ")).collect();
    assert_eq!(found, ["a b c", "d e"]);
}
