//! Tests of derivation, key rings and secret files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use tempfile::TempDir;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn derived_keys_differ_by_purpose_and_context() {
    let master = MasterKey::new("a master key");
    let derived = [
        master.derive(b"purpose", b""),
        master.derive(b"purpose", b"context"),
        master.derive(b"purposec", b"ontext"),
        master.derive(b"", b"purposecontext"),
        MasterKey::new("another master key").derive(b"purpose", b""),
    ];
    for (at, key) in derived.iter().enumerate() {
        assert!(!derived[at + 1..].contains(key), "{at}");
    }
    assert_eq!(derived[0], master.derive(b"purpose", b""));
}

#[test]
fn guest_keys_differ_from_host_keys() {
    let (master, key) = (MasterKey::new("secret"), Key::new("secret"));
    let length = 7_u64.to_be_bytes();
    let info = [&length[..], b"purpose"].concat();
    assert_ne!(key.derive_for_guest(&info, 32).unwrap(), master.derive(b"purpose", b""));
    assert_eq!(key.derive_for_guest(b"", 255 * 32).map(|key| key.len()), Some(255 * 32));
    assert_eq!(key.derive_for_guest(b"", 255 * 32 + 1), None);
}

/// RFC 4231, test case 2.
#[test]
fn hmac_is_rfc_2104s() {
    let (key, data) = (Key::new("Jefe"), b"what do ya want for nothing?");
    for (hash, tag) in [
        (HmacHash::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            HmacHash::Sha384,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            HmacHash::Sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let made = key.hmac(hash, data);
        assert_eq!(hex::encode(&made), tag);
        assert!(key.verifies(hash, data, &made));
        assert!(!key.verifies(hash, data, &made[1..]), "a cut tag");
        assert!(!key.verifies(hash, b"other", &made));
        assert!(!key.verifies(hash, data, b""));
    }
}

#[test]
fn accepted_keys_keep_their_order() {
    let (new, old) = (Key::new("new"), Key::new("old"));
    let ring = KeyRing::default();
    let _held = ring.get_or_insert_with("site", || vec![new.clone(), old.clone()]);
    let accepted = ring.accepted("site").unwrap();
    assert_eq!(accepted.iter().map(Key::id).collect::<Vec<_>>(), [new.id(), old.id()]);
    assert!(ring.accepted("other").is_none());
}

#[test]
fn name_is_known_while_keys_are_held() {
    let ring = KeyRing::default();
    let first = ring.get_or_insert_with("site", || vec![Key::new("one")]);
    let second = ring.get_or_insert_with("site", || panic!("they are held"));
    drop(first);
    assert!(Arc::ptr_eq(&ring.accepted("site").unwrap(), &second));
    let _other = ring.get_or_insert_with("other", || vec![Key::new("other")]);
    assert!(ring.accepted("site").is_some());
    drop(second);
    assert!(ring.accepted("site").is_none());
    let _recreated = ring.get_or_insert_with("site", || vec![Key::new("two")]);
    assert_eq!(ring.accepted("site").unwrap()[0].id(), Key::new("two").id());
}

#[test]
fn debug_output_omits_secrets() {
    let key = Key::new("topmost");
    let ring = KeyRing::default();
    let held = ring.get_or_insert_with("site", || vec![key.clone()]);
    let printed = format!("{:?} {held:?} {ring:?}", MasterKey::new("topmost"));
    assert!(!printed.contains("topmost") && !printed.contains(&format!("{:?}", b"topmost")), "{printed}");
    assert!(printed.contains(key.id()));
}

#[test]
fn generated_secret_is_readable_by_owner_only() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secrets/host.key");
    let made = MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(made.raw().len(), 2 * CHECKSUM_BYTES + 1 + 2 * GENERATED_BYTES);
    let other = MasterKey::generate().unwrap();
    assert!(other.raw().len() == made.raw().len() && other.raw() != made.raw());
    assert_eq!(MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap().raw(), made.raw());
}

#[test]
fn unreadable_secret_is_no_disk_fault() {
    let folder = TempDir::new().unwrap();
    let error = MasterKey::load_or_generate(folder.path(), &DamagedFiles::default()).unwrap_err();
    assert!(matches!(error, SecretFileError::Io(..)) && !error.is_of_disk(), "{error}");
    let full = SecretFileError::Io(folder.path().to_owned(), io::ErrorKind::StorageFull.into());
    assert!(full.is_of_disk());
}

#[test]
fn concurrent_hosts_share_one_secret() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secrets/host.key");
    let barrier = std::sync::Barrier::new(8);
    let start = || {
        barrier.wait();
        MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap().raw().to_vec()
    };
    let made: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(made.iter().all(|secret| *secret == made[0]));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn exposed_secret_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("host.key");
    MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let error = MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap_err();
    assert!(matches!(error, SecretFileError::Exposed(_)), "{error}");
}

#[test]
fn each_cut_or_overwritten_secret_is_damaged() {
    let whole = MasterKey::generate().unwrap().0;
    let damaged = |bytes: &[u8]| str::from_utf8(bytes).is_ok_and(is_damaged);
    assert!(!damaged(&whole));
    for at in 0..whole.len() {
        assert!(damaged(&whole[..at]), "cut at {at}");
        for other in (b' '..=b'~').filter(|other| *other != whole[at]) {
            let mut bytes = whole.clone();
            bytes[at] = other;
            assert!(damaged(&bytes), "{other} at {at}");
        }
    }
}

#[test]
fn other_secrets_have_no_checksum() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("host.key");
    // Of an earlier version, longer, and in words.
    for secret in ["0a".repeat(32), "0a".repeat(64), "a passphrase of more than six words".to_owned()] {
        fs::write(&path, format!("{secret}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let key = MasterKey::load_or_generate(&path, &DamagedFiles::default()).unwrap();
        assert_eq!(key.raw(), secret.as_bytes());
    }
}

#[test]
fn damaged_secret_is_set_aside() {
    let folder = TempDir::new().unwrap();
    let (path, set_aside) = (folder.path().join("host.key"), DamagedFiles::default());
    let mut last = MasterKey::load_or_generate(&path, &set_aside).unwrap();
    let zeros = [0_u8; 2 * GENERATED_BYTES];
    let cut = [b'a'; 2 * GENERATED_BYTES - 1];
    let mut flipped = last.raw().to_vec();
    flipped[40] ^= 1;
    for damaged in [&b""[..], b"too short\n", &cut, &flipped, &zeros, &[0xff_u8; 2 * GENERATED_BYTES]] {
        fs::write(&path, damaged).unwrap();
        let error = MasterKey::load(&path).unwrap_err();
        assert!(matches!(error, SecretFileError::Unusable(_)), "{error}");
        let made = MasterKey::load_or_generate(&path, &set_aside).unwrap();
        assert_ne!(made.raw(), last.raw());
        assert_eq!(fs::read(folder.path().join("host.key.damaged")).unwrap(), damaged);
        assert_eq!((mode(&path), MasterKey::load(&path).unwrap().unwrap().raw()), (0o600, made.raw()));
        last = made;
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert_eq!(set_aside.all().into_keys().collect::<Vec<_>>(), [path]);
}

#[test]
fn interrupted_start_reports_lost_secret() {
    let folder = TempDir::new().unwrap();
    let (path, aside) = (folder.path().join("host.key"), folder.path().join("host.key.damaged"));
    fs::write(&aside, "cut").unwrap();
    for lost in [vec![aside], Vec::new()] {
        let damaged = DamagedFiles::default();
        MasterKey::load_or_generate(&path, &damaged).unwrap();
        assert_eq!(damaged.all().into_values().collect::<Vec<_>>(), lost);
    }
}
