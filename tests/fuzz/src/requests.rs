//! The fuzz targets for what clients, operators and registries send. Bad input is a refusal in plain text, never a panic;
//! what must hold for input that is taken is asserted.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse as _;
use bulkhead::config::registries::{Reference, is_digest};
use bulkhead::config::signatures::{SignaturePolicy, Signatures};
use bulkhead::config::slots::SlotId;
use bulkhead::config::{ConfigFile, Flag, Sources};
use bulkhead::deploy::{Proof, signature};
use bulkhead::engine::ComponentLimits;
use bulkhead::http::json::object;
use bulkhead::registry::manifest::{self, Manifest};
use bulkhead::services::answer::AnswerWorld;
use bulkhead::services::captcha::{
    Captcha,
    http::{envelope::CaptchaEnvelope, payload::CaptchaPayload},
    import::{ApplicationFormat, import_application},
};
use bulkhead::services::list::{self, ANSWER, CAPTCHA, STATUS, TRIAGE, load};
use bulkhead::services::status::{Status, http::query::StatusQuery};
use bulkhead::services::tickets::{
    http::request::TicketBody,
    triage::{import::import_triage_yml, spanned_toml},
};
use bulkhead::services::triage::{Rules, TriageWorld};
use bulkhead::slots::{Contract, World, outline};
use bulkhead_captcha::algorithm::Hash;
use bulkhead_captcha::error::Error;
use bulkhead_captcha::host::{Host, Load, Minted, Signature, Visits, Work};
use bulkhead_captcha::policy::{Binding, Client, Difficulty, Protocol, Site};
use bulkhead_captcha::{canonical, json, verify};
use serde_json::Value;
use serde_json::value::RawValue;

/// Whether a reader took the input.
pub type Taken = bool;

/// What one run does.
pub type Body = fn(&[u8]) -> Taken;

/// The targets by name.
pub const TARGETS: [(&str, Body); 7] = [
    ("preflight", preflight),
    ("component_upload", component_upload),
    ("oci_manifest", oci_manifest),
    ("ticket_json", ticket_json),
    ("captcha_payload", captcha_payload),
    ("gql", gql),
    ("configuration", configuration),
];

/// Longest text of a refusal, bytes.
const REFUSAL_BYTES: usize = 32 << 10;

/// A refusal is short, and free of control characters but for line breaks.
fn refused(text: &str) -> Taken {
    let control = |c: char| c.is_control() && c != '\n';
    assert!(text.len() <= REFUSAL_BYTES && !text.contains(control), "{text:?}");
    false
}

/// A component's bytes, before it is compiled, as each slot checks them.
pub fn preflight(data: &[u8]) -> Taken {
    let taken = [
        check::<Captcha>(CAPTCHA, data),
        check::<Status>(STATUS, data),
        check::<TriageWorld>(TRIAGE, data),
        check::<AnswerWorld>(ANSWER, data),
    ];
    taken.contains(&true)
}

fn check<W: World>(id: SlotId, wasm: &[u8]) -> Taken {
    let slot = *list::spec().slots().find(|slot| slot.id == id).expect("a slot of the list");
    let (limits, capabilities) = (ComponentLimits::DEFAULT, &list::capabilities());
    let (world, exports) = (W::NAME, W::EXPORTS);
    let contract = Contract { slot, table: "slots", world, exports, grants: &[], limits, capabilities };
    match contract.check(wasm, 1 << 20) {
        Ok(()) => {
            let outline = outline(wasm).expect("what is taken has an outline");
            let plain = |name: &str| name.split('@').next().map(str::to_owned);
            for wanted in W::EXPORTS {
                assert!(outline.exports.iter().any(|found| plain(found) == plain(wanted)), "{outline:?}");
            }
            assert!(outline.import_count <= 200 && outline.export_count <= 200, "{outline:?}");
            true
        }
        Err(refusal) => {
            assert!(!refusal.findings.is_empty());
            refused(&refusal.to_string())
        }
    }
}

/// A push: the text of a `.minisig` file, a zero byte, the component; or the JSON that names a reference.
pub fn component_upload(data: &[u8]) -> Taken {
    /// Has signed `test`, once: minisign's own example.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (text, wasm) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let proof = Proof::Signature(String::from_utf8_lossy(text).into_owned());
    let signatures = Signatures { policy: SignaturePolicy::Required, keys: vec![KEY.to_owned()] };
    let signed = match signature::verify(&signatures, wasm, &proof) {
        Ok(signed) => {
            assert_eq!(wasm, b"test");
            assert_eq!(signed.and_then(|signed| signed.at), Some(1_556_193_335));
            true
        }
        Err(reason) => refused(&reason),
    };
    let named = match object::<BTreeMap<String, Value>>(data) {
        Ok(members) => match members.get("reference").and_then(Value::as_str).map(Reference::parse) {
            Some(Ok(reference)) => {
                assert_eq!(Reference::parse(&reference.to_string()).as_ref(), Ok(&reference));
                true
            }
            Some(Err(reason)) => refused(&reason),
            None => false,
        },
        Err(fault) => refused(&fault.to_string()),
    };
    signed || named
}

/// A manifest: the type that the registry declares, a line break, the document.
pub fn oci_manifest(data: &[u8]) -> Taken {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (declared, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match manifest::read(&String::from_utf8_lossy(declared), text) {
        Ok(Manifest::Component { layer, .. }) => {
            assert!(is_digest(&layer.digest), "{layer:?}");
            true
        }
        Ok(Manifest::Index(digest)) => {
            assert!(is_digest(&digest), "{digest}");
            true
        }
        Err(fault) => refused(&fault.to_string()),
    }
}

/// The body of a request to the ticket service, declared as JSON and not.
pub fn ticket_json(data: &[u8]) -> Taken {
    let read = |is_json| {
        let asked = TicketBody::read(is_json, data).and_then(|mut members| {
            let (_, text, number) = (members.session(), members.text("text"), members.integer("ticket_id"));
            members.check().map(|()| (text, number))
        });
        match asked {
            Ok((text, number)) => {
                let body: Value = serde_json::from_slice(data).expect("what is taken is JSON");
                assert_eq!(body["text"], text);
                if let (Some(number), Some(written)) = (number, body["ticket_id"].as_i64()) {
                    assert_eq!(number, written);
                }
                true
            }
            Err(error) => {
                assert_eq!(error.into_response().status(), 422);
                false
            }
        }
    };
    [read(true), read(false)].contains(&true)
}

/// The body of a back end's call, the widget's base64, or the payload itself, which the component judges.
pub fn captcha_payload(data: &[u8]) -> Taken {
    let text = String::from_utf8_lossy(data);
    let read = [
        CaptchaEnvelope::with_payload(&text).map(|(_, payload)| payload.json),
        CaptchaEnvelope::without_payload(&text).map(|_| text.clone().into_owned()),
        CaptchaPayload::from_base64(&text).map(|payload| payload.json),
        Ok(text.clone().into_owned()),
    ];
    let judged = read.into_iter().map(|read| match read {
        Ok(payload) => judge(&payload),
        Err(error) => {
            assert_eq!(error.status, 400);
            refused(&error.message)
        }
    });
    judged.fold(false, |taken, valid| taken | valid)
}

/// Whether it is a valid payload.
fn judge(payload: &str) -> Taken {
    if let Ok(value) = json::parse(payload) {
        let written = canonical::value(&value);
        let again = json::parse(&written).expect("the canonical form is JSON");
        assert_eq!(canonical::value(&again), written);
    }
    let valid = |accept_v1| {
        let site = site(accept_v1);
        let verdict = verify::verify(&Lenient, &site, &Client::default(), payload, Some("book"));
        let spent = verify::invalidate(&Lenient, &site, payload);
        let valid = verdict.as_ref().is_ok_and(|verdict| verdict.rejected.is_none());
        for error in [verdict.err(), spent.err()].into_iter().flatten() {
            assert!(matches!(error, Error::Malformed(_)), "{error:?}");
        }
        valid
    };
    [valid(false), valid(true)].contains(&true)
}

fn site(accept_v1: bool) -> Site {
    Site {
        key: "site".to_owned(),
        compat: false,
        protocol: Protocol::V2,
        accept_v1,
        algorithm: "PBKDF2/SHA-256".to_owned(),
        memory_cost: None,
        parallelism: None,
        deterministic: true,
        counter_max: 16,
        difficulty: Difficulty { ladder: Vec::new(), auto: None },
        binding: Binding::None,
        timeout_seconds: 300,
        max_verifies: 1,
        max_failures: 3,
        signing_key: "site".to_owned(),
        key_signing_key: "key".to_owned(),
    }
}

/// A host to which every signature is good, so that what only an issuer can sign is judged too.
struct Lenient;

impl Lenient {
    fn is_id(id: &str) {
        assert!(id.len() == 64 && hex::decode(id).is_ok(), "{id}");
    }
}

impl Host for Lenient {
    fn now(&self) -> Duration {
        Duration::from_secs(1_800_000_000)
    }

    fn random(&self, length: usize) -> Vec<u8> {
        vec![7; length]
    }

    fn sign(&self, _key: &str, _hash: Hash, _data: &[u8]) -> Result<Signature, Error> {
        Ok(Signature { key_id: "k1".to_owned(), tag: vec![7; 32] })
    }

    fn is_signed(&self, _: &str, _: Option<&str>, _: Hash, _: &[u8], _: &[u8]) -> Result<bool, Error> {
        Ok(true)
    }

    /// The real host bounds the length, which the challenge says.
    fn derive(&self, work: &Work, _password: &[u8], _salt: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(vec![7; work.key_length.min(64) as usize])
    }

    fn mint(&self, _work: &Work, _counter_max: u32) -> Result<Minted, Error> {
        Err(Error::Internal("nothing is issued".to_owned()))
    }

    fn record_visit(&self, _site: &str, _client: &[String], _allow_listed: bool) -> Result<Visits, Error> {
        Ok(Visits::default())
    }

    fn load(&self, _site: &str) -> Result<Load, Error> {
        Ok(Load::default())
    }

    fn spent(&self, id: &str) -> Result<u32, Error> {
        Self::is_id(id);
        Ok(0)
    }

    fn claim(&self, id: &str, _expires_at: u64, _limit: u32, _all: bool) -> Result<bool, Error> {
        Self::is_id(id);
        Ok(true)
    }

    fn record_failure(&self, id: &str, _expires_at: u64) -> Result<u32, Error> {
        Self::is_id(id);
        Ok(1)
    }

    fn warn(&self, _message: &str) {}
}

/// A query of the status service: as it is, and as the value of `gql`.
pub fn gql(data: &[u8]) -> Taken {
    const PAYLOAD: &str = r#"{"$schema":"s","mail":{"queueCount":2,"oldestSeconds":{"a":[5]}},"version":{"major":"2"},"n":1,"n":2}"#;
    let payload = RawValue::from_string(PAYLOAD.to_owned()).expect("a payload");
    // No URI is longer than 65,534 bytes.
    let data = data.get(..20_000).unwrap_or(data);
    let escaped: String = data.iter().map(|byte| format!("%{byte:02X}")).collect();
    let read = |query: &str| {
        let Ok(uri) = format!("/status/?{query}").parse::<Uri>() else { return false };
        match StatusQuery::read(&uri, &HeaderMap::new()) {
            Ok(StatusQuery { selection: Some((selection, _)), .. }) => {
                let selected = selection.of(&payload).expect("a selection of an object");
                let again = selection.of(&selected).expect("a selection of an object");
                assert_eq!(selected.get(), again.get());
                true
            }
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.status, 400);
                refused(&error.message)
            }
        }
    };
    [read(&String::from_utf8_lossy(data)), read(&format!("gql={escaped}"))].contains(&true)
}

/// Configuration files: the host's and the triage component's, and those of replaced services.
pub fn configuration(data: &[u8]) -> Taken {
    let text = String::from_utf8_lossy(data);
    // In YAML a carriage return ends a line, too, and the end of the text is on a line of its own.
    let lines = text.split(['\n', '\r']).count() + 1;
    let flag = |path: &str, value: &str| Flag {
        name: "--test".to_owned(),
        path: path.to_owned(),
        value: value.to_owned(),
    };
    let file = Some(ConfigFile { name: "test.toml".to_owned(), text: text.clone().into_owned() });
    let flags = vec![flag("data_dir", "/data")];
    let loaded = load(Sources { file, environment: Vec::new(), flags, root: false, memory: None });
    match &loaded {
        Ok(loaded) => loaded.warnings.iter().for_each(|warning| one_line(&warning.to_string())),
        Err(problems) => {
            assert!(problems.iter().next().is_some());
            problems.iter().for_each(|problem| one_line(&problem.to_string()));
        }
    }
    let [yaml, properties] = [ApplicationFormat::Yaml, ApplicationFormat::Properties]
        .map(|format| import_application(&text, format));
    let imported = [yaml, properties, import_triage_yml(&text)];
    for imported in &imported {
        match imported {
            Ok(imported) => {
                assert!(spanned_toml::parse(&imported.toml).is_ok(), "{}", imported.toml);
                imported.notes.iter().for_each(|note| one_line(note));
            }
            Err(error) => assert!(error.line <= lines, "{error}"),
        }
    }
    let rules = Rules::parse(&text);
    if let Ok(rules) = &rules {
        assert!(serde_json::from_str::<Value>(rules.json()).is_ok(), "{}", rules.json());
    }
    // Of a file of another kind nothing is carried over.
    let carried = imported.iter().flatten().any(|imported| imported.toml.contains(" = "));
    loaded.is_ok() || rules.is_ok() || carried
}

fn one_line(text: &str) {
    assert!(!text.contains('\n'), "{text:?}");
}
