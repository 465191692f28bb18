//! Tensors of guests, whose dimensions and types are checked against their bytes.

use bulkhead_inference::{
    onnx::{Numbers, Value},
    tensor_shape,
};
use bulkhead_runtime::capabilities::{Capabilities, HostResource};
use bulkhead_telemetry::quoted;
use wasmtime::component::Resource;

use super::{
    NnError, NnTensor,
    wit::{self, TensorType},
};

/// Returns the standard's name of an element type.
const fn type_name(kind: TensorType) -> &'static str {
    match kind {
        TensorType::Fp16 => "FP16",
        TensorType::Fp32 => "FP32",
        TensorType::Fp64 => "FP64",
        TensorType::Bf16 => "BF16",
        TensorType::U8 => "U8",
        TensorType::I32 => "I32",
        TensorType::I64 => "I64",
    }
}

/// Returns the bytes of one element.
const fn element_bytes(kind: TensorType) -> usize {
    match kind {
        TensorType::U8 => 1,
        TensorType::Fp16 | TensorType::Bf16 => 2,
        TensorType::Fp32 | TensorType::I32 => 4,
        TensorType::Fp64 | TensorType::I64 => 8,
    }
}

impl HostResource for NnTensor {
    fn bytes(&self) -> usize {
        self.data.capacity() + self.dimensions.capacity() * size_of::<u32>() + size_of::<Self>()
    }
}

impl NnTensor {
    /// Returns an f32 tensor `[rows, columns]`.
    pub(super) fn matrix(rows: usize, columns: usize, values: &[f32]) -> Self {
        let size = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        Self {
            dimensions: vec![size(rows), size(columns)],
            kind: TensorType::Fp32,
            data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// Returns a u8 tensor `[bytes]` with UTF-8 text.
    pub(super) fn utf8(text: String) -> Self {
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self { dimensions: vec![bytes], kind: TensorType::U8, data: text.into_bytes() }
    }

    /// Returns the dimensions, if type, number of dimensions and length of the data are consistent.
    fn shape<const N: usize>(&self, kind: TensorType) -> Result<[usize; N], String> {
        self.check_kind(kind)?;
        let shape = tensor_shape::shape(&self.dimensions, element_bytes(kind), self.data.len());
        shape.map_err(|fault| fault.to_string())
    }

    /// Checks the element type.
    fn check_kind(&self, kind: TensorType) -> Result<(), String> {
        let (expected, found) = (type_name(kind), type_name(self.kind));
        match expected == found {
            true => Ok(()),
            false => Err(format!("must have elements of type {expected}, not {found}")),
        }
    }

    /// Returns the text of a u8 tensor `[bytes]`.
    pub(super) fn text(self) -> Result<String, String> {
        let [_] = self.shape(TensorType::U8)?;
        String::from_utf8(self.data).map_err(|error| format!("is not UTF-8: {}", error.utf8_error()))
    }

    /// Returns the numbers of an i32 tensor `[n]`.
    pub(super) fn integers(&self) -> Result<Vec<i32>, String> {
        let [_] = self.shape(TensorType::I32)?;
        Ok(self.as_integers())
    }

    /// Returns the numbers of an i32 tensor `[n]`, none below 0.
    pub(super) fn counts(&self) -> Result<Vec<u32>, String> {
        let counts = self.integers()?.into_iter().map(u32::try_from).collect::<Result<_, _>>();
        counts.map_err(|_| "has a number below 0".to_owned())
    }

    /// Returns the numbers of an f32 tensor `[n]`.
    pub(super) fn floats(&self) -> Result<Vec<f32>, String> {
        let [_] = self.shape(TensorType::Fp32)?;
        Ok(self.as_floats())
    }

    /// Returns the dimensions and numbers of an f32 tensor `[rows, columns]`.
    pub(super) fn float_matrix(&self) -> Result<([usize; 2], Vec<f32>), String> {
        Ok((self.shape(TensorType::Fp32)?, self.as_floats()))
    }

    fn as_floats(&self) -> Vec<f32> {
        self.data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// Converts to a value of the ONNX runtime, whose integers have 32 bits.
    pub(super) fn value(&self) -> Result<Value, String> {
        let long = || {
            let numbers =
                self.data.as_chunks().0.iter().map(|bytes| i32::try_from(i64::from_le_bytes(*bytes)));
            let numbers: Result<Vec<i32>, _> = numbers.collect();
            numbers.map(Numbers::Integers).map_err(|_| "has a number beyond 32 bits".to_owned())
        };
        let shape = tensor_shape::sizes(&self.dimensions, element_bytes(self.kind), self.data.len());
        let shape = shape.map_err(|fault| fault.to_string())?;
        let numbers = match self.kind {
            TensorType::Fp32 => Ok(Numbers::Floats(self.as_floats())),
            TensorType::I32 => Ok(Numbers::Integers(self.as_integers())),
            TensorType::I64 => long(),
            TensorType::U8 => Ok(Numbers::Bytes(self.data.clone())),
            other => {
                let found = type_name(other);
                Err(format!("must have elements of type FP32, I32, I64 or U8, not {found}"))
            }
        };
        Ok(Value { shape, numbers: numbers? })
    }

    /// Converts from a value of the ONNX runtime.
    pub(super) fn from_value(value: Value) -> Self {
        let dimensions = value.shape.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
        let (kind, data) = match value.numbers {
            Numbers::Floats(numbers) => {
                (TensorType::Fp32, numbers.into_iter().flat_map(f32::to_le_bytes).collect())
            }
            Numbers::Integers(numbers) => {
                (TensorType::I32, numbers.into_iter().flat_map(i32::to_le_bytes).collect())
            }
            Numbers::Bytes(data) => (TensorType::U8, data),
        };
        Self { dimensions, kind, data }
    }

    fn as_integers(&self) -> Vec<i32> {
        self.data.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()
    }

    /// Returns the dimensions and numbers of an i64 tensor `[rows, columns]`.
    pub(super) fn long_matrix(&self) -> Result<([usize; 2], Vec<i64>), String> {
        let sizes = self.shape(TensorType::I64)?;
        Ok((sizes, self.data.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()))
    }
}

/// The input tensors of a call, by name. Each is taken once.
pub(super) struct NamedInputs(Vec<(String, NnTensor)>);

impl NamedInputs {
    /// Rejects unknown and duplicate names.
    pub(super) fn new(named: Vec<(String, NnTensor)>, known: &[&str]) -> Result<Self, NnError> {
        for (index, (name, _)) in named.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let (name, known) = (quoted(name), known.join(", "));
                return Err(NnError::invalid(format!("input \"{name}\" is not one of {known}")));
            }
            if named.iter().take(index).any(|(other, _)| other == name) {
                return Err(NnError::invalid(format!("input \"{}\" is given twice", quoted(name))));
            }
        }
        Ok(Self(named))
    }

    /// Rejects inputs that have not been taken and do not go with `these`.
    pub(super) fn reject_remaining(&self, these: &str) -> Result<(), NnError> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(NnError::invalid(format!("input \"{}\" does not go with {these}", quoted(name))))
            }
        }
    }

    /// Takes the tensor `name`, if there is one, and converts it with `read`.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(NnTensor) -> Result<T, String>,
    ) -> Result<Option<T>, NnError> {
        let Some(at) = self.0.iter().position(|(known, _)| known == name) else { return Ok(None) };
        let (_, tensor) = self.0.swap_remove(at);
        read(tensor).map(Some).map_err(|fault| NnError::invalid(format!("input {name:?} {fault}")))
    }
}

impl wit::Host for Capabilities {}

impl wit::HostTensor for Capabilities {
    fn new(
        &mut self,
        dimensions: Vec<u32>,
        kind: TensorType,
        data: Vec<u8>,
    ) -> wasmtime::Result<Resource<NnTensor>> {
        self.push_resource(NnTensor { dimensions, kind, data })
    }

    fn dimensions(&mut self, tensor: Resource<NnTensor>) -> wasmtime::Result<Vec<u32>> {
        Ok(self.resource(&tensor)?.dimensions.clone())
    }

    fn ty(&mut self, tensor: Resource<NnTensor>) -> wasmtime::Result<TensorType> {
        Ok(self.resource(&tensor)?.kind)
    }

    fn data(&mut self, tensor: Resource<NnTensor>) -> wasmtime::Result<Vec<u8>> {
        Ok(self.resource(&tensor)?.data.clone())
    }

    fn drop(&mut self, tensor: Resource<NnTensor>) -> wasmtime::Result<()> {
        self.delete_resource(tensor)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn tensor(dimensions: &[u32], kind: TensorType, data: &[u8]) -> NnTensor {
        NnTensor { dimensions: dimensions.to_vec(), kind, data: data.to_vec() }
    }

    #[test]
    fn numbers_are_little_endian_and_row_major() {
        let read = tensor(&[2], TensorType::I32, &[1, 0, 0, 0, 255, 255, 255, 255]).integers();
        assert_eq!(read, Ok(vec![1, -1]));
        let bytes: Vec<u8> = [1_i64, 2, 3, 4].into_iter().flat_map(i64::to_le_bytes).collect();
        let read = tensor(&[2, 2], TensorType::I64, &bytes).long_matrix();
        assert_eq!(read, Ok(([2, 2], vec![1, 2, 3, 4])));
        let vectors = NnTensor::matrix(1, 2, &[1.0, -2.5]);
        assert_eq!((vectors.dimensions, vectors.kind), (vec![1, 2], TensorType::Fp32));
        assert_eq!(vectors.data, [1.0_f32.to_le_bytes(), (-2.5_f32).to_le_bytes()].concat());
    }

    #[test]
    fn inconsistent_tensors_are_rejected() {
        let refused = |tensor: NnTensor| tensor.text().unwrap_err();
        assert!(refused(tensor(&[3], TensorType::U8, b"ab")).contains("not its 2 bytes"));
        assert!(refused(tensor(&[2], TensorType::I32, b"ab")).contains("type U8, not I32"));
        assert!(refused(tensor(&[1, 2], TensorType::U8, b"ab")).contains("must have 1 dimensions, not 2"));
        assert!(refused(tensor(&[1; 5], TensorType::U8, b"a")).contains("the limit is 4"));
        assert!(refused(tensor(&[2], TensorType::U8, &[0xc3, 0x28])).contains("is not UTF-8"));
        let huge = tensor(&[u32::MAX; 4], TensorType::I64, b"").integers().unwrap_err();
        assert!(huge.contains("type I32"), "{huge}");
        let huge = tensor(&[u32::MAX; 3], TensorType::I32, b"").integers().unwrap_err();
        assert!(huge.contains("not its 0 bytes"), "a product over the address space is not a match: {huge}");
        assert_eq!(tensor(&[0], TensorType::U8, b"").text(), Ok(String::new()));
    }

    #[test]
    fn unknown_and_duplicate_names_are_rejected() {
        let one = || tensor(&[1], TensorType::U8, b"a");
        let twice = NamedInputs::new(vec![("a".into(), one()), ("a".into(), one())], &["a"]).err().unwrap();
        assert!(twice.text.contains("twice"), "{}", twice.text);
        let unknown = NamedInputs::new(vec![("b".into(), one())], &["a", "c"]).err().unwrap();
        assert!(unknown.text.contains("\"b\" is not one of a, c"), "{}", unknown.text);
        let mut inputs = NamedInputs::new(vec![("a".into(), one())], &["a"]).unwrap();
        assert_eq!(inputs.take("a", NnTensor::text), Ok(Some("a".to_owned())));
        assert_eq!(inputs.take("a", NnTensor::text), Ok(None));
    }

    #[test]
    fn input_steps_grow_with_names_and_bytes() {
        const KNOWN: [&str; 3] = ["a", "b", "c"];
        let one = || tensor(&[1], TensorType::U8, b"a");
        let bytes_of = |kind, bytes: usize, size: usize| {
            let rows = u32::try_from(bytes / size).unwrap();
            ("a".to_owned(), NnTensor { dimensions: vec![rows], kind, data: vec![b'a'; bytes] })
        };
        let shapes: [Shape<'_, Vec<(String, NnTensor)>>; 6] = [
            ("one name again and again", &|bytes| vec![("a".to_owned(), one()); bytes / 64]),
            ("known names", &|bytes| {
                KNOWN.iter().cycle().take(bytes / 64).map(|name| ((*name).to_owned(), one())).collect()
            }),
            ("an unknown name", &|bytes| vec![(repeated("", "\u{1b}", "", bytes), one())]),
            ("dimensions", &|bytes| {
                vec![("a".to_owned(), tensor(&vec![1; bytes / 4], TensorType::U8, b"a"))]
            }),
            ("text", &|bytes| vec![bytes_of(TensorType::U8, bytes, 1)]),
            ("numbers", &|bytes| vec![bytes_of(TensorType::I32, bytes, 4)]),
        ];
        let test = concat!(module_path!(), "::input_steps_grow_with_names_and_bytes");
        assert_linear(test, 1 << 20, &shapes, |named| {
            let read =
                |tensor: NnTensor| (tensor.value().is_ok(), tensor.counts().is_ok(), tensor.text().is_ok());
            let inputs = NamedInputs::new(named.clone(), &KNOWN);
            inputs.map(|mut inputs| inputs.take("a", |tensor| Ok(read(tensor))).is_ok()).is_ok()
        });
    }
}
