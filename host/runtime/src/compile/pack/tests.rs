//! Tests of which packs are loaded, and which are refused.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bulkhead_telemetry::Metrics;
use tempfile::TempDir;

use super::{signer::tests::signer, *};
use crate::{
    compile::{
        Compiler,
        tests::{EMPTY, engine},
    },
    engine::{Engine, tests::sandbox},
};

/// Returns the code of the smallest component, and its header.
fn compiled(engine: &Engine) -> (PackHeader, Vec<u8>) {
    let target = CodeTarget::of_this_program().unwrap();
    let settings = engine.code_settings();
    let code = settings.compiling(false, Some(target)).unwrap().precompile_component(EMPTY).unwrap();
    let header = PackHeader {
        wasmtime: WASMTIME.to_owned(),
        target: target.triple().to_owned(),
        features: settings.features(),
        component: ComponentDigest::of(EMPTY).to_string(),
        code: ComponentDigest::of(&code).to_string(),
    };
    (header, code)
}

/// Returns why a pack is refused whose key is configured.
fn refusal(engine: &Engine, header: &PackHeader, code: &[u8]) -> Option<PackError> {
    let pack = attach(EMPTY, header, code, Some(&signer(1))).unwrap();
    let keys = [signer(2).public_key(), signer(1).public_key()];
    Pack::find(&pack).unwrap().unwrap().open(Some(&keys), engine.code_settings()).err()
}

#[test]
fn version_is_that_of_lock_file() {
    let lock = include_str!("../../../../../Cargo.lock");
    assert!(lock.contains(&format!("name = \"wasmtime\"\nversion = \"{WASMTIME}\"\n")), "{WASMTIME}");
}

#[test]
fn component_without_code_is_no_pack() {
    let large = [EMPTY, &[0, 0x80, 1, 1, b'n'], &[0; 126]].concat();
    let named = [EMPTY, &[0, 14], NAME, &[7, 0]].concat();
    let endless = [EMPTY, &[0xff; 9]].concat();
    let cases: [&[u8]; 6] = [EMPTY, &large, &named, &EMPTY[..7], b"", &endless];
    for wasm in cases {
        assert!(Pack::find(wasm).is_none(), "{wasm:?}");
    }
    let cut = [EMPTY, &[0, 15], NAME, &[0]].concat();
    assert_eq!(Pack::find(&cut).unwrap().unwrap_err(), PackError::Malformed);
}

#[test]
fn each_wrong_field_is_refused() {
    let engine = engine();
    let (header, code) = compiled(&engine);
    assert_eq!(refusal(&engine, &header, &code), None);
    let wasmtime = PackHeader { wasmtime: "47.0.0".to_owned(), ..header.clone() };
    let target = PackHeader { target: "riscv64gc-unknown-linux-gnu".to_owned(), ..header.clone() };
    let features = PackHeader { features: vec!["fuel".to_owned()], ..header.clone() };
    for (wrong, named) in [(wasmtime, "wasmtime"), (target, "target"), (features, "features")] {
        let found = refusal(&engine, &wrong, &code);
        assert!(matches!(found, Some(PackError::Other { field, .. }) if field == named), "{named}");
    }
    let component = PackHeader { component: header.code.clone(), ..header.clone() };
    assert_eq!(refusal(&engine, &component, &code), Some(PackError::Changed("component")));
    assert_eq!(refusal(&engine, &header, b"code"), Some(PackError::Changed("code")));
}

#[test]
fn only_configured_keys_may_sign() {
    let engine = engine();
    let (header, code) = compiled(&engine);
    let opened = |signed: Option<u8>, keys: Option<&[u8]>| {
        let signed = signed.map(signer);
        let pack = attach(EMPTY, &header, &code, signed.as_ref()).unwrap();
        let keys: Option<Vec<_>> =
            keys.map(|keys| keys.iter().map(|key| signer(*key).public_key()).collect());
        Pack::find(&pack).unwrap().unwrap().open(keys.as_deref(), engine.code_settings()).map(drop)
    };
    assert_eq!(opened(Some(1), Some(&[1])), Ok(()));
    assert_eq!(opened(Some(1), Some(&[2])), Err(PackError::Signature));
    assert_eq!(opened(Some(1), Some(&[])), Err(PackError::NoKeys));
    assert_eq!(opened(None, Some(&[1])), Err(PackError::Unsigned));
    assert_eq!(opened(None, None), Ok(()), "it is part of the program");
}

#[test]
fn every_flipped_byte_is_refused() {
    let engine = engine();
    let (header, code) = compiled(&engine);
    let pack = attach(EMPTY, &header, &code, Some(&signer(1))).unwrap();
    let keys = [signer(1).public_key()];
    let opened = |wasm: &[u8]| {
        let pack = Pack::find(wasm)?.ok()?;
        pack.open(Some(&keys), engine.code_settings()).ok()
    };
    assert!(opened(&pack).is_some());
    // The untrusted comment of the signature is not signed, and says nothing.
    let comment = b"untrusted comment: signature of a pack";
    let start = pack.windows(comment.len()).position(|window| window == comment).unwrap();
    // All of what is before the code, and some of the code.
    let before = pack.len() - code.len();
    for at in (0..before).chain((before..pack.len()).step_by(997)) {
        let mut flipped = pack.clone();
        flipped[at] ^= 1;
        let is_comment = (start..start + comment.len()).contains(&at);
        assert_eq!(opened(&flipped).is_some(), is_comment, "byte {at} of {}", pack.len());
    }
}

#[test]
fn code_is_checked_without_loading() {
    let (header, code) = compiled(&engine());
    let target = PackHeader { target: "riscv64gc-unknown-linux-gnu".to_owned(), ..header.clone() };
    let pack = |header: &PackHeader| attach(EMPTY, header, &code, Some(&signer(1))).unwrap();
    let checked = |wasm: &[u8], keys: Vec<String>| {
        check_code(wasm, &Sandbox { pack_keys: keys, ..sandbox() }).map_err(|error| error.to_string())
    };
    let keys = || vec![signer(1).public_key()];
    assert_eq!(checked(EMPTY, Vec::new()), Ok(()));
    assert_eq!(checked(&pack(&header), keys()), Ok(()));
    assert_eq!(checked(&pack(&header), Vec::new()), Err(PackError::NoKeys.to_string()));
    assert!(checked(&pack(&target), keys()).is_err_and(|text| text.starts_with("it is compiled for target")));
}

/// A compiler that has no program to compile with.
fn compiler(keys: &[String], folder: &TempDir) -> Compiler {
    let metrics = Arc::new(Metrics::new(folder.path().to_owned(), []).unwrap());
    let sandbox = Sandbox { compile_program: "/absent".into(), pack_keys: keys.to_vec(), ..sandbox() };
    Compiler::new(engine(), &sandbox, None, metrics)
}

#[tokio::test]
async fn compiler_loads_packs_without_compiling() {
    let folder = TempDir::new().unwrap();
    let (header, code) = compiled(&engine());
    let signed: Arc<[u8]> = attach(EMPTY, &header, &code, Some(&signer(1))).unwrap().into();
    let digest = ComponentDigest::of(&signed);
    let keys = [signer(1).public_key()];
    compiler(&keys, &folder).compile(Arc::clone(&signed), digest).await.unwrap();
    let refused = compiler(&[], &folder).compile(signed, digest).await.err().unwrap();
    assert!(matches!(refused, CompileError::Pack(PackError::NoKeys)) && refused.is_refusal(), "{refused}");

    let unsigned: Arc<[u8]> = attach(EMPTY, &header, &code, None).unwrap().into();
    let digest = ComponentDigest::of(&unsigned);
    let own = compiler(&[], &folder).with_built_in([&*unsigned, EMPTY]);
    own.compile(Arc::clone(&unsigned), digest).await.unwrap();
    let refused = compiler(&keys, &folder).compile(unsigned, digest).await.err().unwrap();
    assert!(matches!(refused, CompileError::Pack(PackError::Unsigned)), "{refused}");
}
