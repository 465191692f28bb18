//! The writer of `tokenizer.json`: the vocabulary as a Unigram model, with XLM-R's normaliser and template.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bulkhead_inference::error::SourceError;
use serde_json::json;
use tokenizers::normalizers::Precompiled;

use super::file::E5File;
use crate::convert::charsmap;

/// The mask token, which the vocabulary holds as an ordinary piece.
pub const MASK: &str = "<mask>";

/// Writes the file, the vocabulary piece by piece.
pub fn write(source: &E5File, path: &Path) -> Result<(), SourceError> {
    let mut map = source.normalizer.clone();
    charsmap::compose(&mut map);
    let charsmap = charsmap::encode(&map).ok_or_else(|| source.fault("the normaliser cannot be laid out"))?;
    let precompiled = Precompiled::from(&charsmap).map_err(|fault| source.fault(fault.to_string()))?;
    let shape = source.shape;
    let (bos, eos) = (source.piece(shape.bos), source.piece(shape.eos));
    let mut special: Vec<_> = [shape.bos, shape.pad, shape.eos, shape.unk]
        .into_iter()
        .chain(source.pieces.iter().rposition(|(piece, _)| piece == MASK))
        .collect();
    special.sort_unstable();
    special.dedup();
    let added: Vec<_> = special
        .into_iter()
        .map(|id| {
            let content = source.piece(id);
            json!({
                "id": id, "content": content, "special": true, "normalized": false,
                "single_word": false, "lstrip": content == MASK, "rstrip": false,
            })
        })
        .collect();
    let token = |token: &str| json!({ "SpecialToken": { "id": token, "type_id": 0 } });
    let sequence = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
    let metaspace =
        json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true });
    let mut head = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "Sequence", "normalizers": [
            precompiled,
            { "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " },
        ] },
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token(bos), sequence("A"), token(eos)],
            "pair": [token(bos), sequence("A"), token(eos), token(eos), sequence("B"), token(eos)],
            "special_tokens": {
                bos: { "id": bos, "ids": [shape.bos], "tokens": [bos] },
                eos: { "id": eos, "ids": [shape.eos], "tokens": [eos] },
            },
        },
        "decoder": metaspace,
    })
    .to_string();
    // The closing brace makes room for the model, which is too long to be built in memory first.
    head.pop();
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write!(
            out,
            r#"{head},"model":{{"type":"Unigram","unk_id":{},"byte_fallback":false,"vocab":["#,
            shape.unk
        )?;
        for (id, (piece, score)) in source.pieces.iter().enumerate() {
            out.write_all(if id == 0 { b"\n" } else { b",\n" })?;
            serde_json::to_writer(&mut out, &(piece, f64::from(*score)))?;
        }
        out.write_all(b"\n]}}\n")?;
        out.flush()
    });
    written.map_err(|fault| SourceError::write(path, fault))
}
