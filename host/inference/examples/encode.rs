//! Measures an encoder: `encode FOLDER [tokens=12] [batch=32] [dtype=int8] [kernel=best] [repeats=20]
//! [cache=FOLDER]`. One thread; the example `engine` measures several.
//!
//! Prints one line: sentences a second (best and median), billions of operations a second, and their share of a
//! peak loop of the same kernel in the same run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::time::{Duration, Instant};

use bulkhead_inference::encoder::{Dtype, Encoder, EncoderOptions, Scratch};
use bulkhead_inference::pooling::Pooling;
use bulkhead_kernels::peak;

/// A measurement lasts at least this long.
const LEAST: Duration = Duration::from_secs(1);

struct Settings {
    tokens: usize,
    batch: usize,
    repeats: usize,
    options: EncoderOptions,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a model folder");
    let mut settings = Settings { tokens: 12, batch: 32, repeats: 20, options: EncoderOptions::default() };
    for argument in arguments {
        let (name, value) = argument.split_once('=').expect("name=value");
        match name {
            "tokens" => settings.tokens = value.parse().expect("a number"),
            "batch" => settings.batch = value.parse().expect("a number"),
            "repeats" => settings.repeats = value.parse().expect("a number"),
            "dtype" if value == "int8" => settings.options.dtype = Dtype::Int8,
            "dtype" if value == "float32" => settings.options.dtype = Dtype::Float32,
            "kernel" => settings.options.kernel = Some(value.parse().expect("a kernel")),
            "cache" => settings.options.cache = Some(value.into()),
            _ => panic!("unknown argument {argument}"),
        }
    }
    measure(Path::new(&folder), &settings);
}

fn measure(folder: &Path, settings: &Settings) {
    let Settings { tokens, batch, repeats, options } = settings;
    let opened = Instant::now();
    let encoder = Encoder::open(folder, options).expect("a model");
    let opened = opened.elapsed();
    let ids: Vec<u32> = (0..batch * tokens)
        .map(|i| (1000 + i * 7919 % 20_000) as u32 % encoder.vocabulary() as u32)
        .collect();
    let offsets: Vec<usize> = (0..=*batch).map(|text| text * tokens).collect();
    let mut out = vec![0.0; batch * encoder.dims()];
    let mut scratch = Scratch::new();
    let mut run = || encoder.embed(&ids, &offsets, Pooling::Mean, &mut scratch, &mut out).unwrap();
    run();
    let mut times = Vec::new();
    let mut busy = f64::INFINITY;
    let started = Instant::now();
    while times.len() < *repeats || started.elapsed() < LEAST {
        let (pass, used) = (Instant::now(), processor_seconds());
        run();
        times.push(pass.elapsed().as_secs_f64());
        busy = busy.min(processor_seconds() - used);
    }
    let peak = match options.dtype {
        Dtype::Int8 => peak::int8(encoder.kernel()),
        Dtype::Float32 => peak::float32(encoder.kernel()),
    };
    let peak = peak.unwrap_or(f64::NAN);
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    let operations = (encoder.work(*tokens) * *batch as u64) as f64;
    println!(
        "{} {} tokens={tokens} batch={batch}: {:.0} sentences/s (median {:.0}), {:.0} Gop/s, \
         {:.0} % of {:.0}; by processor time {:.0} sentences/s, {:.0} %; opened in {:.1} ms",
        encoder.kernel(),
        encoder.dtype().name(),
        *batch as f64 / best,
        *batch as f64 / median,
        operations / best / 1e9,
        operations / best / 1e7 / peak,
        peak,
        *batch as f64 / busy,
        operations / busy / 1e7 / peak,
        opened.as_secs_f64() * 1e3,
    );
}

/// Returns the processor time of this thread so far, in seconds; NaN on other systems. It separates work from waiting
/// on a busy machine.
fn processor_seconds() -> f64 {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes the time given.
        #[allow(unsafe_code)]
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0 {
            return time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        }
    }
    f64::NAN
}
