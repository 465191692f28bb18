//! Tests of edits of the captcha sites.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

const FILE: &str = r#"# Of the town hall.

[server] # where it listens
listen = "127.0.0.1:8080"

# Captcha sites follow.

# The shop's.
[captcha.sites.shop]
secret = "one" # from the vault
binding = "network"

[[captcha.sites.shop.difficulty_map]]
min_visits = 1
cost = 5000

# Where notes go.
[log]
level = "info"
# The end.
"#;

fn edited(text: &str, edit: impl FnOnce(&mut SitesFile) -> Result<(), EditError>) -> String {
    let mut file = SitesFile::parse(text).unwrap();
    edit(&mut file).unwrap();
    file.text()
}

fn refused(text: &str, edit: impl FnOnce(&mut SitesFile) -> Result<(), EditError>) -> EditError {
    let mut file = SitesFile::parse(text).unwrap();
    let error = edit(&mut file).unwrap_err();
    assert_eq!(file.text(), text);
    error
}

/// An edit of a file.
type Edit = fn(&mut SitesFile) -> Result<(), EditError>;

#[test]
fn new_site_follows_the_others() {
    let origins = ["https://www.example.org".to_owned()];
    let text = edited(FILE, |file| file.add("museum", "two", &origins));
    let added =
        "\n[captcha.sites.museum]\nsecret = \"two\"\nallowed_origins = [\"https://www.example.org\"]\n";
    assert_eq!(text.replace(added, ""), FILE);
    assert!(text.contains(&format!("cost = 5000\n{added}")), "{text}");
}

#[test]
fn new_site_takes_form_of_its_neighbours() {
    for (text, expected) in [
        ("", "[captcha.sites.a]\nsecret = \"s\"\n"),
        ("demo = true\n", "demo = true\n\n[captcha.sites.a]\nsecret = \"s\"\n"),
        ("[captcha]\nauth = \"none\"\n", "[captcha]\nauth = \"none\"\n\n[captcha.sites.a]\nsecret = \"s\"\n"),
        (
            "[captcha]\nsites = { b = { secret = \"x\" } }\n",
            "[captcha]\nsites = { b = { secret = \"x\" } , a = { secret = \"s\" } }\n",
        ),
        (
            "captcha.sites.b.secret = \"x\"\n",
            "captcha.sites.b.secret = \"x\"\ncaptcha.sites.a.secret = \"s\"\n",
        ),
    ] {
        let text = edited(text, |file| file.add("a", "s", &[]));
        assert_eq!(text.trim_start().replace(" ,", ","), expected.replace(" ,", ","));
    }
    let text = edited("", |file| file.add("a.b c", "s", &[]));
    assert!(text.contains("[captcha.sites.\"a.b c\"]"), "{text}");
}

#[test]
fn rotation_keeps_former_secret_until_finished() {
    let begun = edited(FILE, |file| file.rotate("shop", Rotation::Begin("two")));
    assert_eq!(begun, FILE.replace("\"one\" #", "[\"two\", \"one\"] #"));
    let again = refused(&begun, |file| file.rotate("shop", Rotation::Begin("three")));
    assert_eq!(again, EditError::RotationInProgress("shop".to_owned()));
    let finished = edited(&begun, |file| file.rotate("shop", Rotation::Finish));
    assert_eq!(finished, FILE.replace("\"one\"", "\"two\""));
    let twice = refused(&finished, |file| file.rotate("shop", Rotation::Finish));
    assert_eq!(twice, EditError::NoRotation("shop".to_owned()));
    for text in [FILE, &begun] {
        let revoked = edited(text, |file| file.rotate("shop", Rotation::Revoke("three")));
        assert_eq!(revoked, FILE.replace("\"one\"", "\"three\""));
    }
}

#[test]
fn comments_in_secret_lists_stay() {
    let begun = "[captcha.sites.shop]\nsecret = [\n  # Of spring.\n  \"two\", # In the vault.\n  # Until May.\n  \
                 \"one\", # With the shop.\n] # See the ticket.\n";
    let comments =
        ["# Of spring.", "# In the vault.", "# Until May.", "# With the shop.", "# See the ticket."];
    for (rotation, secret) in [(Rotation::Finish, "two"), (Rotation::Revoke("three"), "three")] {
        let text = edited(begun, |file| file.rotate("shop", rotation));
        for comment in comments {
            assert!(text.contains(comment), "{comment}: {text}");
        }
        let read: toml::Table = toml::from_str(&text).unwrap();
        let secrets = read["captcha"]["sites"]["shop"]["secret"].as_array().unwrap();
        assert_eq!(secrets, &[toml::Value::from(secret)], "{text}");
        let twice = refused(&text, |file| file.rotate("shop", Rotation::Finish));
        assert_eq!(twice, EditError::NoRotation("shop".to_owned()));
        let again = edited(&text, |file| file.rotate("shop", Rotation::Begin("four")));
        assert!(
            toml::from_str::<toml::Table>(&again).is_ok()
                && comments.iter().all(|known| again.contains(known))
        );
    }
}

#[test]
fn line_endings_stay() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let file = crlf(FILE);
    let edits: [Edit; 4] = [
        |file| file.add("museum", "two", &[]),
        |file| file.rotate("shop", Rotation::Begin("two")),
        |file| file.rotate("shop", Rotation::Revoke("two")),
        |file| file.remove("shop"),
    ];
    for edit in edits {
        assert_eq!(edited(&file, edit), crlf(&edited(FILE, edit)));
    }
    assert_eq!(SitesFile::parse(&file).unwrap().text(), file);
    let mixed = FILE.replacen('\n', "\r\n", 3);
    let added = edited(&mixed, |file| file.add("museum", "two", &[]));
    assert_eq!(added.replace("\n[captcha.sites.museum]\nsecret = \"two\"\n", ""), mixed);
}

#[test]
fn byte_order_mark_stays() {
    let edits: [Edit; 3] = [
        |file| file.add("museum", "two", &[]),
        |file| file.rotate("shop", Rotation::Begin("two")),
        |file| file.remove("shop"),
    ];
    for text in [FILE.to_owned(), FILE.replace('\n', "\r\n")] {
        let marked = format!("\u{feff}{text}");
        assert_eq!(SitesFile::parse(&marked).unwrap().text(), marked);
        for edit in edits {
            assert_eq!(edited(&marked, edit), format!("\u{feff}{}", edited(&text, edit)));
        }
    }
    let first = "[captcha.sites.shop]\nsecret = \"s\"\n";
    assert_eq!(edited(&format!("\u{feff}{first}"), |file| file.remove("shop")), "\u{feff}");
    assert_eq!(edited("\u{feff}", |file| file.add("shop", "s", &[])).matches('\u{feff}').count(), 1);
}

#[test]
fn secret_is_found_by_every_name() {
    for name in SECRET {
        let text = format!("[captcha.sites]\nshop = {{ {name} = \"file:/run/one\" }}\n");
        let rotated = edited(&text, |file| file.rotate("shop", Rotation::Begin("two")));
        assert_eq!(rotated, text.replace("\"file:/run/one\"", "[\"two\", \"file:/run/one\"]"));
    }
}

#[test]
fn removed_site_loses_only_its_comment() {
    let text = edited(FILE, |file| file.remove("shop"));
    let (start, end) = (FILE.find("# The shop's.").unwrap(), FILE.find("\n# Where notes go.").unwrap());
    assert_eq!(text, format!("{}\n{}", FILE[..start].trim_end(), &FILE[end..]));
    let last = "# Of all.\n\n# Of it.\n[captcha.sites.shop]\nsecret = \"s\"\n# The end.\n";
    assert_eq!(edited(last, |file| file.remove("shop")), "# Of all.\n\n# The end.\n");
}

#[test]
fn missing_sites_and_secrets_are_errors() {
    let unknown = EditError::Unknown("museum".to_owned());
    assert_eq!(refused(FILE, |file| file.remove("museum")), unknown);
    assert_eq!(refused(FILE, |file| file.rotate("museum", Rotation::Finish)), unknown);
    assert_eq!(refused(FILE, |file| file.add("shop", "s", &[])), EditError::Exists("shop".to_owned()));
    let bare = "[captcha.sites.shop]\ncompat = true\n";
    assert_eq!(
        refused(bare, |file| file.rotate("shop", Rotation::Begin("s"))),
        EditError::NoSecret("shop".to_owned())
    );
    assert_eq!(refused("captcha = 1\n", |file| file.add("a", "s", &[])), EditError::NotATable("captcha"));
    assert!(SitesFile::parse("[captcha").is_err());
}

#[test]
fn site_keys_are_compared_in_nfc() {
    let text = "[captcha.sites.\"cafe\u{301}\"]\nsecret = \"s\"\n";
    assert_eq!(edited(text, |file| file.remove("caf\u{e9}")), "");
}
