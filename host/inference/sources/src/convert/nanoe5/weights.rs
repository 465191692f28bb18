//! The writer of `model.safetensors` under the names of Hugging Face's `BertModel`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bulkhead_inference::error::{LoadError, SourceError};
use bulkhead_inference::progress::Progress;
use half::f16;
use half::slice::HalfFloatSliceExt;
use serde_json::{Map, json};

use super::file::{BLOCK_BYTES, E5File, Entry, Storage};

/// Data begins at a multiple of this many bytes, so that mapped rows are aligned for vector loads.
const ALIGNMENT: usize = 64;
/// Bytes read at a time: whole blocks and whole floats.
const STEP: usize = BLOCK_BYTES * 32 * 1024;

struct Planned {
    name: String,
    shape: Vec<usize>,
    entry: Entry,
}

/// Writes the weights, one tensor after the other.
pub fn write(source: &mut E5File, path: &Path, progress: &mut dyn Progress) -> Result<(), SourceError> {
    let plan = plan(source)?;
    let (header, total) = header(&plan);
    progress.start("convert weights", Some(total));
    let written = write_all(source, path, &plan, &header, progress);
    progress.finish();
    written
}

fn write_all(
    source: &mut E5File,
    path: &Path,
    plan: &[Planned],
    header: &[u8],
    progress: &mut dyn Progress,
) -> Result<(), SourceError> {
    let failed = |fault| SourceError::write(path, fault);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    out.write_all(&(header.len() as u64).to_le_bytes()).map_err(failed)?;
    out.write_all(header).map_err(failed)?;
    let (mut values, mut bytes) = (Vec::new(), Vec::new());
    for Planned { name, entry, .. } in plan {
        let mut finite = true;
        source.stream(*entry, STEP, |stored| {
            match entry.storage {
                Storage::F32 => {
                    bytes.clear();
                    bytes.extend_from_slice(stored);
                    finite &= stored.as_chunks().0.iter().all(|value| f32::from_le_bytes(*value).is_finite());
                }
                Storage::Q4 => {
                    dequantize(stored, &mut values);
                    finite &= to_f16(&values, &mut bytes);
                }
            }
            progress.advance(bytes.len() as u64);
            out.write_all(&bytes).map_err(failed)
        })?;
        if !finite {
            return Err(source.fault(format!("tensor of `{name}` holds a number that is not finite")).into());
        }
    }
    out.flush().map_err(failed)
}

/// Dequantises blocks: element `i` of a block is `(half byte - 8) * scale`.
fn dequantize(stored: &[u8], values: &mut Vec<f32>) {
    values.clear();
    for block in stored.as_chunks::<BLOCK_BYTES>().0 {
        let [low, high, halves @ ..] = block;
        let scale = f16::from_le_bytes([*low, *high]).to_f32();
        values.extend(halves.iter().map(|byte| (f32::from(byte & 0x0F) - 8.0) * scale));
        values.extend(halves.iter().map(|byte| (f32::from(byte >> 4) - 8.0) * scale));
    }
}

/// Rounds to F16; false if a value was or became infinite or not a number.
fn to_f16(values: &[f32], bytes: &mut Vec<u8>) -> bool {
    let mut rounded = vec![f16::ZERO; values.len()];
    rounded.convert_from_f32_slice(values);
    bytes.clear();
    bytes.extend(rounded.iter().flat_map(|value| value.to_le_bytes()));
    rounded.iter().all(|value| value.is_finite())
}

/// Builds the safetensors header, padded with spaces, and returns how many bytes of data follow it.
fn header(plan: &[Planned]) -> (Vec<u8>, u64) {
    let mut entries = Map::new();
    entries.insert("__metadata__".to_owned(), json!({ "format": "pt" }));
    let mut offset = 0_u64;
    for Planned { name, shape, entry } in plan {
        let (dtype, size) = match entry.storage {
            Storage::F32 => ("F32", 4),
            Storage::Q4 => ("F16", 2),
        };
        let end = offset + entry.elements as u64 * size;
        entries
            .insert(name.clone(), json!({ "dtype": dtype, "shape": shape, "data_offsets": [offset, end] }));
        offset = end;
    }
    let mut header = serde_json::Value::Object(entries).to_string().into_bytes();
    let length = (size_of::<u64>() + header.len()).next_multiple_of(ALIGNMENT) - size_of::<u64>();
    header.resize(length, b' ');
    (header, offset)
}

/// Plans which tensor goes where, F32 first: each then begins at a multiple of its element's size.
fn plan(source: &E5File) -> Result<Vec<Planned>, LoadError> {
    let shape = source.shape;
    let (hidden, wide) = (shape.hidden, shape.intermediate);
    let mut plan = Vec::new();
    let mut add = |name: String, stored: String, shape: Vec<usize>| {
        // Lengths are at most 2^24 each, so that the product of two fits.
        let entry = source.tensor(&stored, shape.iter().product())?;
        plan.push(Planned { name, shape, entry });
        Ok::<_, LoadError>(())
    };
    for (name, stored, rows) in [
        ("word_embeddings", "emb.word", shape.vocabulary),
        ("position_embeddings", "emb.pos", shape.positions),
        ("token_type_embeddings", "emb.type", shape.types),
    ] {
        add(format!("embeddings.{name}.weight"), stored.to_owned(), vec![rows, hidden])?;
    }
    add("embeddings.LayerNorm.weight".to_owned(), "emb.ln.w".to_owned(), vec![hidden])?;
    add("embeddings.LayerNorm.bias".to_owned(), "emb.ln.b".to_owned(), vec![hidden])?;
    for layer in 0..shape.layers {
        for (name, stored, outputs, inputs) in [
            ("attention.self.query", "q", hidden, hidden),
            ("attention.self.key", "k", hidden, hidden),
            ("attention.self.value", "v", hidden, hidden),
            ("attention.output.dense", "ao", hidden, hidden),
            ("intermediate.dense", "fi", wide, hidden),
            ("output.dense", "fo", hidden, wide),
        ] {
            let name = format!("encoder.layer.{layer}.{name}");
            add(format!("{name}.weight"), format!("l{layer}.{stored}.w"), vec![outputs, inputs])?;
            add(format!("{name}.bias"), format!("l{layer}.{stored}.b"), vec![outputs])?;
        }
        for (name, stored) in [("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln")] {
            let name = format!("encoder.layer.{layer}.{name}");
            add(format!("{name}.weight"), format!("l{layer}.{stored}.w"), vec![hidden])?;
            add(format!("{name}.bias"), format!("l{layer}.{stored}.b"), vec![hidden])?;
        }
    }
    plan.sort_by_key(|planned| planned.entry.storage == Storage::Q4);
    Ok(plan)
}
