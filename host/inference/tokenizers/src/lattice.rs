//! The best segmentation of a word by a Unigram model (Viterbi), with the sums and the ties of the reference.
//!
//! Once some way through the whole word is known, a start from which no way can be better is skipped. No score is
//! above zero, so a way is worth at most its part so far and the next piece; adding rounds, but never above that.

use super::trie::Trie;
use super::word_cache::WordCache;

/// The best way found to a byte of the word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    score: f64,
    /// Where its last piece begins; `NOWHERE` for a byte that nothing ends at.
    start: u32,
    id: u32,
}

const NOWHERE: u32 = u32::MAX;
const NONE: Node = Node { score: 0.0, start: NOWHERE, id: 0 };

/// The pieces of a model.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) trie: Trie<'a>,
    /// Bits of each piece's score, an f64.
    pub(super) scores: &'a [u64],
    pub(super) unknown: u32,
    pub(super) unknown_score: f64,
    /// Bits of the best score of a piece that begins with each byte.
    pub(super) highest: &'a [u64],
}

impl Pieces<'_> {
    /// Returns the highest score of a piece that begins with this byte.
    #[inline(always)]
    fn highest(&self, first: u8) -> f64 {
        self.highest.get(usize::from(first)).map_or(f64::INFINITY, |bits| f64::from_bits(*bits))
    }
}

/// A model and room for one word's nodes.
pub(super) struct Lattice<'a> {
    pieces: Pieces<'a>,
    nodes: &'a mut Vec<Node>,
    /// The cache, and the number that this model goes by in it.
    cache: &'a mut WordCache,
    owner: u32,
}

impl<'a> Lattice<'a> {
    pub(super) fn new(
        pieces: Pieces<'a>,
        nodes: &'a mut Vec<Node>,
        (cache, owner): (&'a mut WordCache, u32),
    ) -> Self {
        Self { pieces, nodes, cache, owner }
    }

    /// Appends the ids of a word (UTF-8); neighbouring unknown characters are one token.
    pub(super) fn segment(&mut self, word: &[u8], ids: &mut Vec<u32>) {
        if let Some(known) = self.cache.get(self.owner, word) {
            return ids.extend_from_slice(known);
        }
        self.fill(word);
        let begin = ids.len();
        let mut end = word.len();
        let mut unknown_before = false;
        while let Some(node) = self.nodes.get(end).filter(|node| end > 0 && node.start != NOWHERE) {
            let unknown = node.id == self.pieces.unknown;
            if !(unknown && unknown_before) {
                ids.push(node.id);
            }
            unknown_before = unknown;
            end = node.start as usize;
        }
        if let Some(own) = ids.get_mut(begin..) {
            own.reverse();
            self.cache.put(self.owner, word, own);
        }
    }

    /// Hands on the id and the length in bytes of each token of a word.
    pub(super) fn tokens(&mut self, word: &[u8], mut put: impl FnMut(u32, usize)) {
        self.fill(word);
        let mut tokens: Vec<(u32, usize)> = Vec::new();
        let mut end = word.len();
        while let Some(node) = self.nodes.get(end).filter(|node| end > 0 && node.start != NOWHERE) {
            let len = end - node.start as usize;
            match tokens.last_mut() {
                Some((id, behind)) if *id == self.pieces.unknown && node.id == self.pieces.unknown => {
                    *behind += len
                }
                _ => tokens.push((node.id, len)),
            }
            end = node.start as usize;
        }
        tokens.into_iter().rev().for_each(|(id, len)| put(id, len));
    }

    #[inline]
    fn fill(&mut self, word: &[u8]) {
        self.nodes.clear();
        self.nodes.resize(word.len() + 1, NONE);
        let mut rest = word;
        while let Some(first) = rest.first() {
            let at = word.len() - rest.len();
            let character = utf8_len(*first);
            let Some((from, ahead)) = self.nodes.get_mut(at..).and_then(<[Node]>::split_first_mut) else {
                return;
            };
            let most = from.score + self.pieces.highest(*first);
            let lost = ahead.last().is_some_and(|end| end.start != NOWHERE && most <= end.score);
            // Where starts were skipped, nothing may lead here.
            let reached = at == 0 || from.start != NOWHERE;
            if reached && !lost {
                self.pieces.offer_all(rest, character, (at, from.score), ahead);
            }
            rest = rest.get(character..).unwrap_or_default();
        }
    }
}

impl Pieces<'_> {
    /// Offers each piece that `rest` begins with to the node behind it.
    #[inline(always)]
    fn offer_all(&self, rest: &[u8], character: usize, (at, so_far): (usize, f64), ahead: &mut [Node]) {
        let mut unit = self.trie.root();
        let mut single = false;
        for (len, (byte, node)) in rest.iter().zip(ahead.iter_mut()).enumerate() {
            let Some(child) = self.trie.child(unit, *byte) else { break };
            unit = child;
            if !Trie::ends(unit) {
                continue;
            }
            let Some(id) = self.trie.value(unit) else { continue };
            let Some(score) = self.scores.get(id as usize) else { continue };
            offer(node, f64::from_bits(u64::from_le(*score)) + so_far, at, id);
            single |= len + 1 == character;
        }
        if !single && let Some(node) = ahead.get_mut(character - 1) {
            offer(node, self.unknown_score + so_far, at, self.unknown);
        }
    }
}

/// Offers a way to a node; the first of equally good ways stays.
#[inline(always)]
fn offer(node: &mut Node, score: f64, start: usize, id: u32) {
    if node.start == NOWHERE || score > node.score {
        *node = Node { score, start: start as u32, id };
    }
}

/// Returns the bytes of the character that begins with this one.
#[inline(always)]
fn utf8_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}
