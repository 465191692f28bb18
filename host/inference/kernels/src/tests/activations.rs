//! Activation functions of every kernel against the reference and their definitions.

use super::{available, reference, same};
use crate::panels::{PanelsF32, PanelsI8, ROW_PAD, RowsI8};
use crate::{Activation, Finish, LANES, Operations};

/// Each activation function over its whole range, against f64.
#[test]
fn activations_are_exact_enough() {
    let x: Vec<f32> = (-4000..=4000).map(|i| i as f32 / 200.0).collect();
    let rows = x.len();
    // A product by the identity.
    let mut data = vec![0.0; LANES];
    data[0] = 1.0;
    let bias = vec![0.0; LANES];
    let panels = PanelsF32 { data: &data, k: 1, bias: &bias };
    let outputs = |operations: &Operations, activation| {
        let mut out = vec![0.0; rows * LANES];
        operations.linear_f32(&x, rows, &panels, &mut out, LANES, Finish::Activate(activation));
        out
    };
    for (activation, tolerance) in [
        (Activation::Gelu, 1e-6),
        (Activation::GeluTanh, 2e-6),
        (Activation::Relu, 0.0),
        (Activation::Silu, 2e-6),
    ] {
        let plain = outputs(reference(), activation);
        for (kernel, operations) in available() {
            let out = outputs(operations, activation);
            same(kernel, &format!("{activation:?}"), &out, &plain, 1e-5);
            for (x, found) in x.iter().zip(out.chunks(LANES)) {
                let expected = defined_activation(activation, f64::from(*x));
                let apart = (f64::from(found[0]) - expected).abs();
                let allowed = tolerance * (1.0 + expected.abs());
                assert!(apart <= allowed, "{kernel} {activation:?} of {x}: {} not {expected}", found[0]);
            }
        }
    }
}

/// As above for int8, over values that come out of the product as they are.
#[test]
fn activations_of_bytes_are_exact_enough() {
    let zero = [0.0; LANES];
    let data = [0; LANES * 4];
    let outputs = |operations: &Operations, activation, x| {
        let bias = [x; LANES];
        let panels = PanelsI8 { data: &data, stride: LANES * 4, k: 4, scale: &zero, sum: &zero, bias: &bias };
        let a = RowsI8 { bytes: &[0; 4 * ROW_PAD], stride: 4, scale: &[1.0], zero: &[0.0] };
        let mut out = [9.0; LANES];
        operations.linear_i8(&a, &panels, &mut out, LANES, Finish::Activate(activation));
        out
    };
    for (kernel, operations) in available() {
        for (activation, tolerance) in [
            (Activation::Gelu, 1e-4),
            (Activation::GeluTanh, 2e-6),
            (Activation::Relu, 0.0),
            (Activation::Silu, 2e-6),
        ] {
            for x in (-4000..=4000).map(|i| i as f32 / 200.0) {
                let out = outputs(operations, activation, x);
                same(kernel, &format!("{activation:?}"), &out, &outputs(reference(), activation, x), 1e-5);
                let expected = defined_activation(activation, f64::from(x));
                let apart = (f64::from(out[0]) - expected).abs();
                let allowed =
                    tolerance * if activation == Activation::Gelu { 1.0 } else { 1.0 + expected.abs() };
                assert!(apart <= allowed, "{kernel} {activation:?} of {x}: {} not {expected}", out[0]);
            }
        }
    }
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

fn defined_activation(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::GeluTanh => {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + u.tanh())
        }
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
    }
}
