//! Differential tests of the compact forms against the reference, on adversarial texts.

use serde_json::{Value, json};

use super::super::toys::{Folder, added, metaspace, precompiled, replace, sequence, unigram, wordpiece};
use super::super::*;

/// The parts of texts: pieces of the toy vocabularies, and edge cases of normalisers.
const PARTS: &[&str] = &[
    "hello",
    "world",
    "hell",
    "lo",
    "l",
    "o",
    "das",
    "Straße",
    "strasse",
    "nbahn",
    "bahn",
    "Über",
    "über",
    "UBER",
    "mut",
    "un",
    "believ",
    "able",
    "unbelievable",
    "aba",
    "ab",
    "a",
    "b",
    "c",
    "x",
    "é",
    "É",
    "e\u{301}",
    "E\u{301}",
    "ä",
    "a\u{308}",
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{85}",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{fffd}",
    "\u{feff}",
    "\u{200b}",
    "\u{200d}",
    "\u{ad}",
    "\u{301}",
    "\u{308}",
    "\u{323}",
    "\u{344}",
    "\u{fe0f}",
    "\u{1f3fd}",
    ".",
    ",",
    "!",
    "?",
    "-",
    "#",
    "##",
    "##s",
    "[",
    "]",
    "<",
    ">",
    "_",
    "'",
    "\"",
    "…",
    "！",
    "„",
    "“",
    "–",
    "€",
    "$",
    "+",
    "1",
    "2",
    "12",
    "²",
    "½",
    "™",
    "ﬁ",
    "㎏",
    "Ａ",
    "ａ",
    "＜",
    "ẞ",
    "ß",
    "İ",
    "ı",
    "i",
    "Ǆ",
    "Ω",
    "ς",
    "Ω",
    "Å",
    "Å",
    "中",
    "国",
    "中国",
    "豈",
    "㐀",
    "カ\u{3099}",
    "カ",
    "ｶ",
    "가",
    "한",
    "각",
    "\u{1100}",
    "\u{1161}",
    "\u{11a8}",
    "ไ",
    "ำ",
    "क",
    "्",
    "ष",
    "😀",
    "🥰",
    "👩\u{200d}👧",
    "🇩🇪",
    "✓",
    "▁",
    "▁▁",
    "▁hello",
    "\u{e000}",
    "\u{600}",
    "\u{1d15e}",
    "\u{1d165}",
    "a\u{302e}\u{1d165}",
    "a\u{1d165}\u{302e}",
    "b\u{302f}\u{323}\u{16ff0}",
    "\u{1d16d}",
    "\u{16ff0}",
    "\u{302e}",
    "𐐀",
    "𠀀",
    "<s>",
    "</s>",
    "<pad>",
    " <mask> ",
    "[CLS]",
    "[cls]",
    "[MASK]",
    "[ma\u{301}sk]",
    "\u{20dd}",
    "\u{10ffff}",
    "\u{378}",
];

/// Numbers that look random and are the same each time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// Returns a code point among combining marks.
    fn mark(&mut self) -> u32 {
        let blocks =
            [0x300..0x370, 0x900..0xe00, 0x1ab0..0x1b00, 0x20d0..0x2100, 0x302a..0x3030, 0x16ff0..0x16ff2];
        let more = [0x1d150..0x1d1b0, 0x10a00..0x10a40, 0x11000..0x11200, 0xfe20..0xfe30, 0x1cd0..0x1d00];
        let block = blocks.iter().chain(&more).nth(self.below(blocks.len() + more.len())).unwrap();
        block.start + self.below(block.len()) as u32
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        let marks = self.below(4) == 0;
        for _ in 0..self.below(24) {
            match self.below(8) {
                0 => text.extend(char::from_u32(self.below(0x3100) as u32)),
                1 if marks => text.extend(char::from_u32(self.mark())),
                1 => text.push(char::from(b'a' + self.below(6) as u8)),
                _ => text.push_str(PARTS[self.below(PARTS.len())]),
            }
        }
        text
    }
}

/// Compares on many texts; returns how many of them the compact form answered.
fn compare(definition: &str, texts: usize) -> usize {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(definition)).unwrap();
    assert!(tokenizer.compact_bytes().is_some(), "no compact form of {definition}");
    let mut numbers = Numbers(88_172_645_463_325_252);
    let mut covered = 0;
    for _ in 0..texts {
        let text = numbers.text();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        tokenizer.encode_by_reference(&text, &mut theirs).unwrap();
        if tokenizer.encode_by_compact(&text, &mut ours) {
            assert_eq!(ours, theirs, "{text:?} under {definition}");
            covered += 1;
        } else {
            assert!(ours.is_empty(), "nothing is appended");
        }
        let hybrid = tokenizer.compact.as_ref().unwrap().hybrid().unwrap();
        let mut framed = Vec::new();
        hybrid.encode(&text, &mut framed).unwrap();
        assert_eq!(framed, theirs, "{text:?} in the hybrid tokenizer under {definition}");
        let wanted = tokenizer.reference().unwrap().tokens(&text, true).unwrap();
        assert_eq!(hybrid.tokens(&text, true).unwrap(), wanted, "{text:?} under {definition}");
    }
    covered
}

const TEXTS: usize = 20_000;

#[test]
fn wordpiece_gives_what_the_reference_gives() {
    let definition = wordpiece();
    let covered = compare(&definition, TEXTS);
    assert!(covered > TEXTS / 3, "{covered}");
    for (from, to) in [
        ("\"lowercase\":true", "\"lowercase\":false"),
        ("\"strip_accents\":null", "\"strip_accents\":false"),
        ("\"handle_chinese_chars\":true", "\"handle_chinese_chars\":false"),
        ("\"max_input_chars_per_word\":100", "\"max_input_chars_per_word\":5"),
    ] {
        assert!(definition.contains(from));
        assert!(compare(&definition.replace(from, to), TEXTS / 4) > TEXTS / 12);
    }
    let normalized = definition.replace(&added(4, "[MASK]", false), &added(4, "[MASK]", true));
    assert!(compare(&normalized, TEXTS / 4) > TEXTS / 12);
}

#[test]
fn every_wordpiece_character_matches_the_reference() {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(&wordpiece())).unwrap();
    let mut covered = 0;
    for character in (0..0x2_0100).filter_map(char::from_u32) {
        // spaces keep words short, so that a difference is not hidden in one unknown word
        for text in [format!("a{character}b"), format!("a {character}. ab")] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            tokenizer.encode_by_reference(&text, &mut theirs).unwrap();
            if tokenizer.encode_by_compact(&text, &mut ours) {
                assert_eq!(ours, theirs, "{text:?}");
                covered += 1;
            }
            let tokens = tokenizer.tokens(&text, false).unwrap();
            assert_eq!(tokens, tokenizer.reference().unwrap().tokens(&text, false).unwrap());
        }
    }
    assert!(covered > 150_000, "{covered}");
}

fn plain_tokens() -> Value {
    let mask = added(99, "<mask>", false).replace("\"lstrip\":false", "\"lstrip\":true");
    let end = added(2, "</s>", false).replace("\"rstrip\":false", "\"rstrip\":true");
    serde_json::from_str(&format!("[{},{end},{mask}]", added(0, "<s>", false))).unwrap()
}

fn normalized_tokens() -> Value {
    let pad = added(1, "<pad>", true).replace("\"single_word\":false", "\"single_word\":true");
    serde_json::from_str(&format!("[{pad},{}]", added(3, "<unk>", false))).unwrap()
}

#[test]
fn unigram_gives_what_the_reference_gives() {
    let punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    let set_apart = punctuation.chars().map(|c| replace("String", &c.to_string(), &format!(" {c} ")));
    let potion: Vec<Value> = [precompiled()]
        .into_iter()
        .chain(set_apart)
        .chain([
            replace("Regex", r"\s+", " "),
            json!({"type": "Strip", "strip_left": true, "strip_right": true}),
        ])
        .collect();
    let split = || json!({"type": "WhitespaceSplit"});
    let right = json!({"type": "Strip", "strip_left": false, "strip_right": true});
    let normalizers = [
        json!(null),
        precompiled(),
        sequence("normalizers", vec![precompiled(), replace("Regex", " {2,}", " ")]),
        sequence(
            "normalizers",
            vec![sequence("normalizers", vec![precompiled()]), replace("Regex", r"\s+", " "), right],
        ),
        sequence("normalizers", potion),
    ];
    let pre_tokenizers = [
        metaspace(true),
        metaspace(false),
        sequence("pretokenizers", vec![split(), metaspace(true)]),
        sequence("pretokenizers", vec![split(), metaspace(false)]),
    ];
    for normalizer in normalizers {
        for pre_tokenizer in &pre_tokenizers {
            for tokens in [plain_tokens(), normalized_tokens()] {
                let covered =
                    compare(&unigram(normalizer.clone(), pre_tokenizer.clone(), tokens), TEXTS / 10);
                assert!(covered > TEXTS / 10 * 9 / 10, "{covered}");
            }
        }
    }
    assert_eq!(compare(&unigram(precompiled(), metaspace(true), plain_tokens()), TEXTS), TEXTS);
}

#[test]
fn uncovered_definition_has_no_compact_form() {
    let folder = Folder::new();
    let good = unigram(precompiled(), metaspace(true), plain_tokens());
    let steps = |steps| sequence("normalizers", steps);
    let cases = [
        good.replace("\"byte_fallback\":false", "\"byte_fallback\":true"),
        good.replace("\"prepend_scheme\":\"always\"", "\"prepend_scheme\":\"first\""),
        good.replace("\"replacement\":\"▁\"", "\"replacement\":\"_\""),
        good.replace("\"unk_id\":3", "\"unk_id\":null"),
        unigram(json!({"type": "NFKC"}), metaspace(true), json!([])),
        unigram(
            json!({"type": "Strip", "strip_left": true, "strip_right": true}),
            metaspace(true),
            json!([]),
        ),
        unigram(steps(vec![replace("String", "ä", " ä ")]), metaspace(true), json!([])),
        unigram(steps(vec![replace("String", "a", "b")]), metaspace(true), json!([])),
        unigram(steps(vec![replace("Regex", " {2,}", " "), precompiled()]), metaspace(true), json!([])),
        unigram(json!(null), json!(null), json!([])),
        unigram(json!(null), json!({"type": "Whitespace"}), json!([])),
        wordpiece().replace("BertPreTokenizer", "Whitespace"),
        wordpiece().replace("\"clean_text\":true", "\"clean_text\":false"),
        wordpiece().replace("\"continuing_subword_prefix\":\"##\"", "\"continuing_subword_prefix\":\"\""),
    ];
    for case in cases {
        assert!(case != good && case != wordpiece());
        let tokenizer = Tokenizer::open(&folder.write(&case)).unwrap();
        assert!(tokenizer.compact_bytes().is_none() && tokenizer.reference_loaded(), "{case}");
    }
}
