//! Writes a small `E5S1` file: 32 dims, one layer, ten pieces.

/// One tensor: the writer fills it with [`element`]s.
pub struct Tensor {
    pub name: String,
    pub kind: u8,
    pub elements: u32,
    /// Added to the true offset in the directory.
    pub shift: i64,
}

/// The parts of a file, each of which a test may damage.
pub struct Toy {
    pub magic: [u8; 4],
    pub version: u32,
    pub heads: u32,
    pub rows: usize,
    pub epsilon: f32,
    pub block: u32,
    pub special: [u32; 4],
    pub pieces: Vec<(&'static str, f32)>,
    pub normalizer: Vec<(u32, Vec<u32>)>,
    pub tensors: Vec<Tensor>,
    /// A tensor whose first number is infinite.
    pub infinite: Option<&'static str>,
}

/// Returns an element of the tensor at `place` of the list: multiples of 1/8 between -1 and 7/8, exact in F16.
pub fn element(place: usize, index: usize) -> f32 {
    (half_byte(place, index) as f32 - 8.0) * 0.125
}

fn half_byte(place: usize, index: usize) -> usize {
    (place * 5 + index * 7 + index / 32) % 16
}

impl Default for Toy {
    fn default() -> Self {
        let mut tensors = Vec::new();
        let mut add = |name: &str, kind: u8, elements: u32| {
            tensors.push(Tensor { name: name.to_owned(), kind, elements, shift: 0 });
        };
        add("emb.word", 1, 12 * 32);
        add("emb.pos", 0, 8 * 32);
        add("emb.type", 0, 32);
        add("emb.ln.w", 0, 32);
        add("emb.ln.b", 0, 32);
        for name in ["q", "k", "v", "ao"] {
            add(&format!("l0.{name}.w"), 1, 32 * 32);
            add(&format!("l0.{name}.b"), 0, 32);
        }
        add("l0.fi.w", 1, 64 * 32);
        add("l0.fi.b", 0, 64);
        add("l0.fo.w", 1, 32 * 64);
        add("l0.fo.b", 0, 32);
        for name in ["aln", "oln"] {
            add(&format!("l0.{name}.w"), 0, 32);
            add(&format!("l0.{name}.b"), 0, 32);
        }
        Self {
            magic: *b"E5S1",
            version: 1,
            heads: 4,
            rows: 12,
            epsilon: 1e-12,
            block: 32,
            special: [0, 2, 1, 3],
            pieces: vec![
                ("<s>", 0.0),
                ("<pad>", 0.0),
                ("</s>", 0.0),
                ("<unk>", 0.0),
                ("▁", -2.0),
                ("▁a", -3.0),
                ("b", -3.5),
                ("▁ab", -4.0),
                ("ü", -5.0),
                ("<mask>", 0.0),
            ],
            normalizer: vec![(0x09, vec![0x20]), (0xFF41, vec![0x61])],
            tensors,
            infinite: None,
        }
    }
}

impl Toy {
    /// Returns the file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        let mut u32s = vec![self.version, 32, 1, self.heads, 64, self.rows as u32, 8, 1];
        u32s.extend([self.epsilon.to_bits(), self.block, self.pieces.len() as u32]);
        u32s.extend(self.special);
        put(&mut out, &u32s);
        let text: String = self.pieces.iter().map(|(piece, _)| *piece).collect();
        out.extend((text.len() as u64).to_le_bytes());
        let mut offset = 0;
        let mut offsets = vec![0];
        for (piece, _) in &self.pieces {
            offset += piece.len() as u32;
            offsets.push(offset);
        }
        put(&mut out, &offsets);
        put(&mut out, &self.pieces.iter().map(|(_, score)| score.to_bits()).collect::<Vec<_>>());
        out.extend(text.as_bytes());
        let mut entries = Vec::new();
        for (from, to) in &self.normalizer {
            put(&mut entries, &[*from]);
            entries.push(to.len() as u8);
            put(&mut entries, to);
        }
        put(&mut out, &[self.normalizer.len() as u32, entries.len() as u32]);
        out.extend(entries);
        put(&mut out, &[self.tensors.len() as u32]);
        let data: Vec<_> =
            self.tensors.iter().enumerate().map(|(place, tensor)| self.data(place, tensor)).collect();
        let directory: usize = self.tensors.iter().map(|tensor| 2 + tensor.name.len() + 1 + 4 + 16).sum();
        let mut offset = (out.len() + directory) as i64;
        for (tensor, data) in self.tensors.iter().zip(&data) {
            out.extend((tensor.name.len() as u16).to_le_bytes());
            out.extend(tensor.name.as_bytes());
            out.push(tensor.kind);
            put(&mut out, &[tensor.elements]);
            out.extend((offset + tensor.shift).to_le_bytes());
            out.extend((data.len() as u64).to_le_bytes());
            offset += data.len() as i64;
        }
        out.extend(data.concat());
        out
    }

    fn data(&self, place: usize, tensor: &Tensor) -> Vec<u8> {
        let elements = tensor.elements as usize;
        let infinite = self.infinite == Some(tensor.name.as_str());
        if tensor.kind == 0 {
            let values =
                (0..elements).map(|index| if infinite { f32::INFINITY } else { element(place, index) });
            return values.flat_map(f32::to_le_bytes).collect();
        }
        let scale = if infinite { half::f16::INFINITY } else { half::f16::from_f32(0.125) };
        let mut data = Vec::new();
        for block in 0..elements / 32 {
            data.extend(scale.to_le_bytes());
            for byte in 0..16 {
                let [low, high] = [byte, byte + 16].map(|index| half_byte(place, block * 32 + index) as u8);
                data.push(low | high << 4);
            }
        }
        data
    }
}

fn put(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
