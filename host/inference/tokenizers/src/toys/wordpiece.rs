//! A small WordPiece tokenizer, which tests of `bulkhead-inference` put into their models too.

#![allow(clippy::unwrap_used)]

/// The pieces of [`wordpiece`] in the order of their ids.
pub(crate) const WORDS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] hello world ##s ##er un ##believ ##able der die das und \
    strasse ##nbahn uber ##mut a b c d e f g ##a ##b ##c ##d ##e ##f ##g ##h 1 2 ##1 ##2 . , ! ? - # [ ] ( ) \
    中 国 ##ß ß é ı i ##i ✓ 한 ᄒ ##ᅡ ##ᆫ ² ½ o ##o ##\u{302e} ##\u{302f} ##\u{1d165} ##\u{1d16d} ##\u{16ff0}";

/// Returns a lower-casing BERT tokenizer of some 60 pieces.
pub(crate) fn wordpiece() -> String {
    let vocab: Vec<String> = WORDS
        .split_whitespace()
        .enumerate()
        .map(|(id, piece)| format!("{}: {id}", serde_json::to_string(piece).unwrap()))
        .collect();
    let added: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        .iter()
        .enumerate()
        .map(|(id, token)| added(id, token, false))
        .collect();
    format!(
        r###"{{"version":"1.0","truncation":{{"max_length":4,"strategy":"LongestFirst","stride":0}},
        "padding":{{"strategy":{{"Fixed":8}},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"}},
        "added_tokens":[{}],
        "normalizer":{{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}},
        "pre_tokenizer":{{"type":"BertPreTokenizer"}},
        "post_processor":{{"type":"TemplateProcessing","single":[{{"SpecialToken":{{"id":"[CLS]","type_id":0}}}},{{"Sequence":{{"id":"A","type_id":0}}}},{{"SpecialToken":{{"id":"[SEP]","type_id":0}}}}],
        "pair":[{{"Sequence":{{"id":"A","type_id":0}}}},{{"Sequence":{{"id":"B","type_id":1}}}}],
        "special_tokens":{{"[CLS]":{{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]}},"[SEP]":{{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}}}}},
        "decoder":{{"type":"WordPiece","prefix":"##","cleanup":true}},
        "model":{{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{{{}}}}}}}"###,
        added.join(","),
        vocab.join(",")
    )
}

/// Returns one added token's entry.
pub(crate) fn added(id: usize, content: &str, normalized: bool) -> String {
    format!(
        r#"{{"id":{id},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":{normalized},"special":true}}"#,
        serde_json::to_string(content).unwrap()
    )
}
