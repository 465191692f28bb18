//! The forward pass of transformers' `BertModel`, in f64 and in the plainest way.

use super::toy::{Toy, Weights};
use crate::pooling::Pooling;

type Rows = Vec<Vec<f64>>;

struct Model<'a> {
    toy: &'a Toy,
    weights: &'a Weights,
}

/// Returns vectors `[texts, hidden]`, not normalised.
pub(crate) fn embed(
    toy: &Toy,
    weights: &Weights,
    ids: &[u32],
    offsets: &[usize],
    pooling: Pooling,
) -> Vec<f64> {
    let model = Model { toy, weights };
    offsets.windows(2).flat_map(|span| model.text(&ids[span[0]..span[1]], pooling)).collect()
}

/// Returns the cosine of two vectors.
pub(crate) fn cosine(a: &[f32], b: &[f64]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * b).sum();
    let a: f64 = a.iter().map(|a| f64::from(*a) * f64::from(*a)).sum();
    let b: f64 = b.iter().map(|b| b * b).sum();
    dot / (a * b).sqrt()
}

impl Model<'_> {
    fn tensor(&self, name: &str) -> Vec<f64> {
        self.weights[name].iter().map(|x| f64::from(*x)).collect()
    }

    fn text(&self, ids: &[u32], pooling: Pooling) -> Vec<f64> {
        let width = self.toy.hidden;
        let words = self.tensor("embeddings.word_embeddings.weight");
        let positions = self.tensor("embeddings.position_embeddings.weight");
        let types = if self.toy.types > 0 {
            self.tensor("embeddings.token_type_embeddings.weight")
        } else {
            vec![0.0; width]
        };
        let first = self.toy.pad.map_or(0, |pad| pad + 1);
        let mut rows: Rows = ids
            .iter()
            .enumerate()
            .map(|(at, id)| {
                let (word, position) = (*id as usize * width, (first + at) * width);
                (0..width).map(|i| words[word + i] + positions[position + i] + types[i]).collect()
            })
            .collect();
        self.norm(&mut rows, "embeddings.LayerNorm");
        for layer in 0..self.toy.layers {
            let of = |part: &str| format!("encoder.layer.{layer}.{part}");
            let context = self.attention(&rows, &of("attention.self"));
            rows = add(&rows, &self.linear(&context, &of("attention.output.dense")));
            self.norm(&mut rows, &of("attention.output.LayerNorm"));
            let mut feed = self.linear(&rows, &of("intermediate.dense"));
            feed.iter_mut().flatten().for_each(|x| *x = self.activate(*x));
            rows = add(&rows, &self.linear(&feed, &of("output.dense")));
            self.norm(&mut rows, &of("output.LayerNorm"));
        }
        match pooling {
            Pooling::Cls => rows[0].clone(),
            Pooling::Last => rows[rows.len() - 1].clone(),
            Pooling::Mean => {
                (0..width).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64).collect()
            }
        }
    }

    fn linear(&self, rows: &Rows, name: &str) -> Rows {
        let (weight, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        rows.iter()
            .map(|row| {
                let channels = weight.chunks(row.len()).zip(&bias);
                channels.map(|(w, b)| w.iter().zip(row).map(|(w, x)| w * x).sum::<f64>() + b).collect()
            })
            .collect()
    }

    fn attention(&self, rows: &Rows, name: &str) -> Rows {
        let head = self.toy.hidden / self.toy.heads;
        let [q, k, v] = ["query", "key", "value"].map(|part| self.linear(rows, &format!("{name}.{part}")));
        q.iter()
            .map(|query| {
                (0..self.toy.hidden)
                    .map(|column| {
                        let span = column / head * head..(column / head + 1) * head;
                        let scores: Vec<f64> = k
                            .iter()
                            .map(|key| {
                                let pairs = query[span.clone()].iter().zip(&key[span.clone()]);
                                (pairs.map(|(q, k)| q * k).sum::<f64>() / (head as f64).sqrt()).exp()
                            })
                            .collect();
                        let total: f64 = scores.iter().sum();
                        scores.iter().zip(&v).map(|(score, value)| score * value[column]).sum::<f64>() / total
                    })
                    .collect()
            })
            .collect()
    }

    fn norm(&self, rows: &mut Rows, name: &str) {
        let (gamma, beta) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        for row in rows {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
            for (x, (gamma, beta)) in row.iter_mut().zip(gamma.iter().zip(&beta)) {
                *x = (*x - mean) / (variance + 1e-12).sqrt() * gamma + beta;
            }
        }
    }

    fn activate(&self, x: f64) -> f64 {
        match self.toy.activation {
            "relu" => x.max(0.0),
            "gelu_new" => {
                0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
            }
            _ => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        }
    }
}

fn add(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// Computes the error function by its power series, `2/sqrt(pi) sum (-1)^n x^(2n+1) / (n! (2n+1))`; 1 beyond 5.
fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
