//! A graph made by hand, as protobuf: `y = x * w + b`, and `ids` passed on.

use super::*;

/// Encodes a protobuf field with bytes in it.
fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128, "one byte of length is enough here");
    [&[field << 3 | 2, length], content].concat()
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn text(field: u8, content: &str) -> Vec<u8> {
    bytes(field, content.as_bytes())
}

/// Encodes a named port of an element type; its dimensions are left open.
fn port(name: &str, kind: u8) -> Vec<u8> {
    let dimensions = bytes(2, &[bytes(1, &text(2, "n")), bytes(1, &text(2, "d"))].concat());
    let tensor = [number(1, kind), dimensions].concat();
    [text(1, name), bytes(2, &bytes(1, &tensor))].concat()
}

fn constant(name: &str, shape: &[u8], numbers: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let shape = shape.iter().flat_map(|size| number(1, *size)).collect();
    [shape, number(2, 1), text(8, name), bytes(9, &data)].concat()
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|name| text(1, name)).collect();
    [inputs, text(2, output), text(4, operator)].concat()
}

/// Encodes fields with more than 127 bytes in them.
fn long(field: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let varint = [u8::try_from(length & 127).unwrap() | 128, u8::try_from(length >> 7).unwrap()];
    [&[field << 3 | 2], varint.as_slice(), content].concat()
}

fn model() -> Vec<u8> {
    let graph = [
        bytes(1, &node("MatMul", &["x", "w"], "product")),
        bytes(1, &node("Add", &["product", "b"], "y")),
        bytes(1, &node("Identity", &["ids"], "same")),
        text(2, "toy"),
        bytes(5, &constant("w", &[2, 1], &[10.0, 1.0])),
        bytes(5, &constant("b", &[1], &[0.5])),
        bytes(11, &port("x", 1)),
        bytes(11, &port("ids", 7)),
        bytes(12, &port("y", 1)),
        bytes(12, &port("same", 7)),
    ]
    .concat();
    [number(1, 8), long(7, &graph), bytes(8, &number(2, 17))].concat()
}

fn loaded(file: &[u8]) -> Result<OnnxGraph, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.onnx");
    std::fs::write(&path, file).unwrap();
    OnnxGraph::load(&path, 1).map_err(|error| error.to_string())
}

fn inputs() -> Vec<(String, Value)> {
    let x = Value { shape: vec![2, 2], numbers: Numbers::Floats(vec![1.0, 2.0, 3.0, 4.0]) };
    let ids = Value { shape: vec![1, 3], numbers: Numbers::Integers(vec![7, 8, 9]) };
    vec![("x".to_owned(), x), ("ids".to_owned(), ids)]
}

/// Other tests read the file, this one says what is in it.
#[test]
fn the_toy_graph_is_this_one() {
    assert_eq!(std::fs::read("../../tests/data/onnx/toy.onnx").unwrap(), model());
}

#[test]
fn a_graph_computes() {
    let outputs = loaded(&model()).unwrap().run(inputs()).unwrap();
    let y = Value { shape: vec![2, 1], numbers: Numbers::Floats(vec![12.5, 34.5]) };
    let same = Value { shape: vec![1, 3], numbers: Numbers::Integers(vec![7, 8, 9]) };
    assert_eq!(outputs, [("y".to_owned(), y), ("same".to_owned(), same)]);
}

#[test]
fn inputs_are_checked() {
    let graph = loaded(&model()).unwrap();
    let mut one = inputs();
    one.truncate(1);
    assert_eq!(graph.run(one), Err(OnnxError::Input("input \"ids\" is missing".to_owned())));
    let mut twice = inputs();
    twice.extend(inputs());
    assert!(matches!(graph.run(twice), Err(OnnxError::Input(text)) if text.contains("twice")));
    let mut unknown = inputs();
    unknown[0].0 = "z".to_owned();
    assert!(matches!(graph.run(unknown), Err(OnnxError::Input(text)) if text.contains("not one of x, ids")));
    let mut short = inputs();
    short[0].1.shape = vec![3, 2];
    assert!(matches!(graph.run(short), Err(OnnxError::Input(_))));
    let mut kind = inputs();
    kind[0].1.numbers = Numbers::Integers(vec![1; 4]);
    assert!(graph.run(kind).is_err());
    let mut shape = inputs();
    shape[0].1 = Value { shape: vec![1, 3], numbers: Numbers::Floats(vec![1.0; 3]) };
    assert!(graph.run(shape).is_err(), "three columns do not fit two rows");
}

#[test]
fn a_bad_file_is_named() {
    let whole = model();
    for file in [b"".as_slice(), b"nothing", &whole[..whole.len() / 2]] {
        let error = loaded(file).err().unwrap();
        assert!(error.contains("toy.onnx: "), "{error}");
    }
}
