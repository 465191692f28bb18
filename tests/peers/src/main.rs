//! `model2vec-rs` as the benchmarks measure it: `peers encode FOLDER` answers lines, `peers serve FOLDER` HTTP.

mod encode;
mod serve;

use model2vec_rs::model::StaticModel;

/// As in the host's own binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let open = |folder| StaticModel::from_pretrained(folder, None, None, None);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["encode", folder] => encode::answer(&open(folder)?),
        ["serve", folder] => serve::serve(open(folder)?),
        _ => Err("usage: peers encode FOLDER | peers serve FOLDER".into()),
    }
}
