//! What a manifest names (OCI image specification; the CNCF's layout of WebAssembly artifacts).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_config::registries::is_digest;
use bulkhead_telemetry::escape_guest;
use serde::Deserialize;

use super::Fault;

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// What a registry is asked for.
pub(super) const ACCEPTED: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
/// Configurations beside a component: of `wkg` and its library today and before, and of tools that write none.
const CONFIGS: [&str; 3] = [
    "application/vnd.wasm.config.v0+json",
    "application/vnd.wasm.config.v1+json",
    "application/vnd.oci.empty.v1+json",
];
/// Layers that are a component: of the same tools.
const LAYERS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];
/// The architecture of components in an index.
const ARCHITECTURE: &str = "wasm";
/// Holds the text of the component's `.minisig` file, in base64.
const SIGNATURE: &str = "bulkhead.minisig";
/// Largest `.minisig` file in base64, bytes; they have some 400.
const SIGNATURE_BYTES: usize = 8192;
/// Longest name of a media type that is quoted, bytes.
const QUOTED_BYTES: usize = 100;

/// What a manifest comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Manifest {
    /// A component.
    Component {
        /// Its bytes.
        layer: Layer,
        /// The text of its `.minisig` file.
        signature: Option<String>,
    },
    /// The digest of the one manifest of an index that is a component's.
    Index(String),
}

/// A layer that is a component.
#[derive(Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its digest by SHA-256.
    pub digest: String,
    /// Its size by the manifest's word, bytes.
    pub bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "bulkhead.minisig")]
    signature: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    architecture: String,
}

/// Reads a manifest, declared to be of this type.
///
/// # Errors
/// When it is not a component's, nor an index with one.
pub fn read(declared: &str, text: &[u8]) -> Result<Manifest, Fault> {
    let declared = declared.split(';').next().unwrap_or_default().trim();
    if ![IMAGE, INDEX].contains(&declared) {
        return other("manifest", declared, &[IMAGE, INDEX]);
    }
    let document: Document = serde_json::from_slice(text).map_err(|_| Fault::Malformed("manifest"))?;
    // What is one thing to this host and another to the next is nothing.
    if let Some(own) = document.media_type.as_deref().filter(|own| *own != declared) {
        return other("manifest", own, &[declared]);
    }
    if declared == INDEX { index(&document) } else { component(document) }
}

fn other<T>(what: &str, found: &str, wanted: &[&str]) -> Result<T, Fault> {
    let (found, wanted) = (escape_guest(found, QUOTED_BYTES), wanted.join(" or "));
    Err(Fault::MediaType(format!("its {what} is {found} and not {wanted}; `wkg oci push` makes one")))
}

fn component(document: Document) -> Result<Manifest, Fault> {
    let Document { config, layers, annotations, .. } = document;
    let config = config.ok_or(Fault::Malformed("manifest"))?;
    if !CONFIGS.contains(&config.media_type.as_str()) {
        return other("config", &config.media_type, &CONFIGS);
    }
    // Others, such as a licence or a list of what is in it, may lie beside the component.
    let is_component = |layer: &&Descriptor| LAYERS.contains(&layer.media_type.as_str());
    let components: Vec<&Descriptor> = layers.iter().filter(is_component).collect();
    let layer = match (components.as_slice(), layers.as_slice()) {
        ([component], _) => *component,
        ([], [only]) => return other("layer", &only.media_type, &LAYERS),
        (found, all) => {
            let (found, all, wanted) = (found.len(), all.len(), LAYERS.join(" or "));
            let text =
                format!("of its {all} layers {found} are {wanted} and not one; `wkg oci push` makes one");
            return Err(Fault::MediaType(text));
        }
    };
    if !is_digest(&layer.digest) {
        return Err(Fault::MediaType("its layer has no digest by sha256".to_owned()));
    }
    let signature = annotations.signature.as_deref().map(signature).transpose()?;
    Ok(Manifest::Component { layer: Layer { digest: layer.digest.clone(), bytes: layer.size }, signature })
}

fn signature(text: &str) -> Result<String, Fault> {
    let bytes = Some(text).filter(|text| text.len() <= SIGNATURE_BYTES);
    let bytes = bytes.and_then(|text| BASE64_STANDARD.decode(text.trim()).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        Fault::MediaType(format!("its annotation {SIGNATURE} must be a .minisig file in base64"))
    })
}

/// An index is for many platforms; a component is the one for WebAssembly.
fn index(document: &Document) -> Result<Manifest, Fault> {
    let is_component = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref().map(|platform| platform.architecture.as_str());
        entry.media_type == IMAGE && platform == Some(ARCHITECTURE) && is_digest(&entry.digest)
    };
    let found: Vec<&Descriptor> = document.manifests.iter().filter(is_component).collect();
    match found.as_slice() {
        [one] => Ok(Manifest::Index(one.digest.clone())),
        several => Err(Fault::MediaType(format!(
            "its index has {} manifests for the architecture {ARCHITECTURE} and not one; name the manifest by its digest",
            several.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use bulkhead_steps::{Shape, assert_linear, repeated};
    use serde_json::{Value, json};

    use super::*;

    fn digest(digit: &str) -> String {
        format!("sha256:{}", digit.repeat(64))
    }

    fn image() -> Value {
        json!({
            "schemaVersion": 2, "mediaType": IMAGE,
            "config": { "mediaType": CONFIGS[0], "digest": digest("c"), "size": 2 },
            "layers": [{ "mediaType": LAYERS[0], "digest": digest("a"), "size": 7 }],
        })
    }

    fn read_json(declared: &str, document: &Value) -> Result<Manifest, Fault> {
        read(declared, document.to_string().as_bytes())
    }

    #[test]
    fn the_usual_forms_are_components() {
        for (config, layer) in CONFIGS.iter().zip(LAYERS.iter().cycle()) {
            let mut document = image();
            document["config"]["mediaType"] = json!(config);
            document["layers"][0]["mediaType"] = json!(layer);
            let layer = Layer { digest: digest("a"), bytes: 7 };
            let found = read_json(&format!("{IMAGE}; charset=utf-8"), &document).unwrap();
            assert_eq!(found, Manifest::Component { layer, signature: None });
        }
    }

    #[test]
    fn one_layer_of_several_is_the_component() {
        let layer =
            |kind: &str, digit: &str| json!({ "mediaType": kind, "digest": digest(digit), "size": 7 });
        let (text, other) = (layer("text/plain", "b"), layer("application/spdx+json", "d"));
        let component = layer(LAYERS[1], "a");
        for layers in [json!([component, text]), json!([text, other, component])] {
            let mut document = image();
            document["layers"] = layers;
            let layer = Layer { digest: digest("a"), bytes: 7 };
            let found = read_json(IMAGE, &document).unwrap();
            assert_eq!(found, Manifest::Component { layer, signature: None });
        }
        for (layers, said) in [
            (json!([text, other]), "of its 2 layers 0 are application/wasm"),
            (json!([component, text, component]), "of its 3 layers 2 are application/wasm"),
            (json!([]), "of its 0 layers 0 are"),
        ] {
            let mut document = image();
            document["layers"] = layers;
            let refused = read_json(IMAGE, &document).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_signature_comes_as_an_annotation() {
        let mut document = image();
        document["annotations"] = json!({ SIGNATURE: BASE64_STANDARD.encode("signed\n"), "other": "x" });
        let Manifest::Component { signature, .. } = read_json(IMAGE, &document).unwrap() else { panic!() };
        assert_eq!(signature.unwrap(), "signed\n");
        for bad in ["not base64!", &"A".repeat(SIGNATURE_BYTES + 4), "/w=="] {
            document["annotations"][SIGNATURE] = json!(bad);
            read_json(IMAGE, &document).unwrap_err();
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let changed = |pointer: &str, value: Value| {
            let mut document = image();
            *document.pointer_mut(pointer).unwrap() = value;
            document
        };
        let layer = image()["layers"][0].clone();
        for document in [
            changed("/mediaType", json!(INDEX)),
            changed("/config/mediaType", json!("application/vnd.oci.image.config.v1+json")),
            changed("/layers/0/mediaType", json!("application/vnd.oci.image.layer.v1.tar+gzip")),
            changed("/layers/0/digest", json!("sha256:../../etc/passwd")),
            changed("/layers/0/digest", json!(format!("sha512:{}", "a".repeat(128)))),
            changed("/layers/0/size", json!(-1)),
            changed("/layers", json!([])),
            changed("/layers", json!([layer, layer])),
            changed("/config", Value::Null),
            json!([]),
        ] {
            read_json(IMAGE, &document).unwrap_err();
        }
        for declared in ["", "application/json", "application/vnd.docker.distribution.manifest.v2+json"] {
            read_json(declared, &image()).unwrap_err();
        }
        let text = read_json("\u{1b}[2Jx", &image()).unwrap_err().to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn an_index_has_one_component() {
        let entry = |architecture: &str, digit: &str| {
            json!({ "mediaType": IMAGE, "digest": digest(digit), "size": 9,
                    "platform": { "architecture": architecture, "os": "wasip2" } })
        };
        let index =
            |entries: Vec<Value>| json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": entries });
        let found = read_json(INDEX, &index(vec![entry("amd64", "a"), entry("wasm", "b")])).unwrap();
        assert_eq!(found, Manifest::Index(digest("b")));
        for entries in [vec![], vec![entry("amd64", "a")], vec![entry("wasm", "a"), entry("wasm", "b")]] {
            let refused = read_json(INDEX, &index(entries)).unwrap_err().to_string();
            assert!(refused.contains("by its digest"), "{refused}");
        }
    }

    #[test]
    fn manifest_steps_grow_with_its_length() {
        let layer = image()["layers"][0].to_string();
        let entry = json!({ "mediaType": IMAGE, "digest": digest("a"), "size": 9, "platform": { "architecture": "wasm" } });
        let (layers, entries) = (format!("{layer},"), format!("{entry},"));
        let config = image()["config"].to_string();
        let head = format!("{{\"config\":{config},\"layers\":[{layer}],\"annotations\":{{");
        let annotations = |bytes: usize| {
            let members = (0..bytes / 14).map(|number| format!("\"{number:06}\":\"a\","));
            format!("{head}{}\"b\":\"\"}}}}", members.collect::<String>())
        };
        let signature = format!("{head}\"{SIGNATURE}\":\"");
        let shapes: [Shape<'_, String>; 6] = [
            ("layers", &|bytes| {
                repeated("{\"layers\":[", &layers, &format!("{layer}],\"config\":{config}}}"), bytes)
            }),
            ("entries", &|bytes| repeated("{\"manifests\":[", &entries, &format!("{entry}]}}"), bytes)),
            ("annotations", &annotations),
            ("a signature", &|bytes| repeated(&signature, "AAAA", "\"}}", bytes)),
            ("a media type", &|bytes| repeated("{\"mediaType\":\"", "\\u001b", "\"}", bytes)),
            ("brackets", &|bytes| repeated("{\"a\":", "[", "", bytes)),
        ];
        let test = concat!(module_path!(), "::manifest_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| {
            [IMAGE, INDEX].map(|declared| read(declared, text.as_bytes()).is_ok())
        });
    }
}
