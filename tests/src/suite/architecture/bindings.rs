//! The bindings of the template in C, which wit-bindgen makes.

use wit_bindgen_core::{Files, wit_parser::Resolve};

use super::{golden::assert_accepted, root};

/// The folder of the template.
const TEMPLATE: &str = "components/templates/c/http";

#[test]
fn c_bindings_are_those_of_wit_bindgen() {
    let world = std::fs::read_to_string(root().join(TEMPLATE).join("world.wit")).unwrap();
    let (mut resolve, mut files) = (Resolve::default(), Files::default());
    // It has `wasi:http` with all that this needs.
    resolve.push_dir(root().join("components/examples/wit")).unwrap();
    let package = resolve.push_str("world.wit", &world).unwrap();
    let world = resolve.select_world(&[package], Some("app")).unwrap();
    // The linker gets the world from the Makefile, so there is no object file with it.
    let (no_object_file, rename_world) = (true, Some("http".to_owned()));
    let options = wit_bindgen_c::Opts { no_object_file, rename_world, ..wit_bindgen_c::Opts::default() };
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["http.c", "http.h"]);
    for (name, bytes) in files.iter() {
        let found = std::str::from_utf8(bytes).unwrap();
        assert_accepted(&format!("{TEMPLATE}/src/{name}"), found);
    }
}
