//! Tests of tokenizers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod compact_form;
mod differential;
mod pairs;

use super::toys::{Folder, metaspace, unigram, wordpiece};
use super::*;

const ALL: EncodeOptions =
    EncodeOptions { limit: usize::MAX, side: TruncationSide::Right, special_tokens: false };

fn ids(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> (Vec<u32>, Encoded) {
    let mut ids = vec![7];
    let encoded = tokenizer.encode(text, options, &mut ids).unwrap();
    assert_eq!(ids.remove(0), 7, "what was there stays");
    assert_eq!(ids.len(), encoded.kept);
    (ids, encoded)
}

#[test]
fn truncation_keeps_special_tokens() {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(&wordpiece())).unwrap();
    let whole = ids(&tokenizer, "hello world hello", EncodeOptions { special_tokens: true, ..ALL });
    assert_eq!(whole.1, Encoded { count: Some(5), kept: 5 });
    let (cls, sep) = (whole.0[0], whole.0[4]);
    let right = EncodeOptions { limit: 3, special_tokens: true, ..ALL };
    assert_eq!(
        ids(&tokenizer, "hello world hello", right),
        (vec![cls, whole.0[1], sep], Encoded { count: Some(5), kept: 3 })
    );
    let left = EncodeOptions { limit: 4, side: TruncationSide::Left, special_tokens: true };
    assert_eq!(
        ids(&tokenizer, "hello world hello", left),
        (vec![cls, whole.0[2], whole.0[3], sep], Encoded { count: Some(5), kept: 4 })
    );
    let none = EncodeOptions { limit: 1, ..right };
    assert!(matches!(
        tokenizer.encode("hello", none, &mut Vec::new()),
        Err(TokenizeError::Limit { limit: 1, special: 2 })
    ));
}

#[test]
fn tokens_show_their_place_in_the_text() {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(&wordpiece())).unwrap();
    let tokens = tokenizer.tokens("Hello, worlds", true).unwrap();
    let shown: Vec<_> = tokens.iter().map(|token| (token.text.as_str(), token.special, token.span)).collect();
    assert_eq!(
        shown,
        [
            ("[CLS]", true, None),
            ("Hello", false, Some((0, 5))),
            (",", false, Some((5, 6))),
            ("world", false, Some((7, 12))),
            ("s", false, Some((12, 13))),
            ("[SEP]", true, None)
        ]
    );
    assert!(!tokenizer.reference_loaded());
}

#[test]
fn a_bad_file_is_named() {
    let folder = Folder::new();
    let good = wordpiece();
    let mut cases = vec![
        "".to_owned(),
        "{".to_owned(),
        "[]".to_owned(),
        r#"{"model":{}}"#.to_owned(),
        good.replace("\"1.0\"", "\"2.0\""),
        good.replace("\"clean_text\":true", "\"clean_text\":7"),
        good.replace("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[NONE]\""),
        good.replace("\"max_length\":4", "\"max_length\":\"4\""),
        good.replace("\"Fixed\":8", "\"Fixed\":-8"),
        good.replace("\"ids\":[2]", "\"ids\":[\"a\"]"),
    ];
    for blob in ["", "/////w==", "/////wAAAAA=", "BAAAAAAAAAD/", "?"] {
        let map = serde_json::json!({"type": "Precompiled", "precompiled_charsmap": blob});
        cases.push(unigram(map, metaspace(true), serde_json::json!([])));
    }
    cases.extend((0..good.len()).step_by(211).map(|end| good[..good.floor_char_boundary(end)].to_owned()));
    for case in cases {
        let path = folder.write(&case);
        let Err(fault) = Tokenizer::open(&path) else { panic!("accepted: {case}") };
        assert!(fault.to_string().starts_with(&path.display().to_string()), "{fault}");
    }
}

/// Tokens added to a vocabulary are found in a text; only the vocabulary itself has the unknown token.
#[test]
fn unknown_token_outside_vocabulary_is_refused() {
    let folder = Folder::new();
    for kind in ["WordPiece", "WordLevel"] {
        for vocabulary in [serde_json::json!({}), serde_json::json!({ "hello": 0, "world": 1 })] {
            let mut file: serde_json::Value = serde_json::from_str(&wordpiece()).unwrap();
            file["model"]["type"] = kind.into();
            file["model"]["vocab"] = vocabulary;
            file["post_processor"] = serde_json::Value::Null;
            let unknown = crate::toys::added(0, "[UNK]", false);
            file["added_tokens"] = serde_json::from_str(&format!("[{unknown}]")).unwrap();
            let Err(fault) = Tokenizer::open(&folder.write(&file.to_string())) else { panic!("{kind}") };
            let wanted = "tokenizer.json: unk_token `[UNK]` is not in the vocabulary";
            assert!(fault.to_string().ends_with(wanted), "{fault}");
            file["model"]["vocab"]["[UNK]"] = 2.into();
            let tokenizer = Tokenizer::open(&folder.write(&file.to_string())).unwrap();
            assert_eq!(ids(&tokenizer, "strange", ALL).0, [2]);
        }
    }
}

#[test]
fn long_text_is_read_in_part() {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(&wordpiece())).unwrap();
    let text = format!("world {}world", "hello ".repeat(1 << 20));
    for side in [TruncationSide::Left, TruncationSide::Right] {
        let short = text[..600].trim_end().to_owned() + " world";
        let options = EncodeOptions { limit: 16, side, special_tokens: true };
        let (kept, encoded) = ids(&tokenizer, &text, options);
        assert_eq!(kept, ids(&tokenizer, &short, options).0);
        assert_eq!((encoded.count, encoded.is_cut()), (None, true));
    }
}

#[test]
fn a_tokenizer_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Tokenizer>();
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(&wordpiece())).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(ids(&tokenizer, "hello worlds", ALL).1.count, Some(3));
                    // not covered: the hybrid tokenizer, built by the first thread
                    assert_eq!(ids(&tokenizer, "hello \u{20000}", ALL).1.count, Some(2));
                }
            });
        }
    });
    assert!(!tokenizer.reference_loaded());
}
