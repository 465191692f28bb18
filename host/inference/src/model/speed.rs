//! How fast a model is on this machine, measured while it works, and the size of its turns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{BATCH_TOKENS, Model, Network};

/// The longest step of a batch, after which other work may come in between.
const STEP: Duration = Duration::from_millis(5);
/// Fewer tokens are not worth a thread: to read the weights costs as much as to multiply so few rows by them.
pub(crate) const LEAST_TOKENS: usize = 32;
/// The most tokens of which the speed is the mean: it follows a change within some batches.
const MEMORY: f64 = 4096.0;
/// Bytes of text that make a token, about, in European languages.
const BYTES_A_TOKEN: usize = 4;
/// Tokens around a text.
const SPECIAL_TOKENS: usize = 2;

/// Seconds that one thread needs for a token, as the bits of floats; 0 until they have been measured.
#[derive(Debug, Default)]
pub(super) struct MeasuredSpeed {
    mean: AtomicU64,
    /// The tokens of the mean.
    seen: AtomicU64,
    /// Of the fastest batch of at least [`LEAST_TOKENS`]. Others on the machine and cold files make batches slower, and a
    /// few tokens say little.
    least: AtomicU64,
}

impl MeasuredSpeed {
    fn record(&self, tokens: usize, time: Duration) {
        if tokens == 0 {
            return;
        }
        let (count, seconds) = (tokens as f64, time.as_secs_f64());
        let seen = f64::from_bits(self.seen.load(Ordering::Relaxed));
        let before = f64::from_bits(self.mean.load(Ordering::Relaxed));
        // Two threads at once may lose a batch, which changes little.
        let mean = (before * seen + seconds) / (seen + count);
        self.mean.store(mean.to_bits(), Ordering::Relaxed);
        self.seen.store((seen + count).min(MEMORY).to_bits(), Ordering::Relaxed);
        let own = seconds / count;
        let is_faster = measured(&self.least).is_none_or(|least| own < least);
        if tokens >= LEAST_TOKENS && own > 0.0 && is_faster {
            self.least.store(own.to_bits(), Ordering::Relaxed);
        }
    }
}

/// Returns the seconds for a token, if they have been measured.
fn measured(seconds: &AtomicU64) -> Option<f64> {
    let seconds = f64::from_bits(seconds.load(Ordering::Relaxed));
    (seconds > 0.0).then_some(seconds)
}

impl Model {
    /// Records that one thread embedded so many tokens in this time.
    pub(crate) fn record_speed(&self, tokens: usize, time: Duration) {
        self.speed.record(tokens, time);
    }

    /// Returns how many tokens one thread embeds in a second; `None` until it has been measured.
    pub fn tokens_per_second(&self) -> Option<f64> {
        measured(&self.speed.mean).map(|seconds| 1.0 / seconds)
    }

    /// Returns how many tokens one thread embeds in a second at the best; `None` until it has been measured.
    pub fn most_tokens_per_second(&self) -> Option<f64> {
        measured(&self.speed.least).map(|seconds| 1.0 / seconds)
    }

    /// Returns the most tokens of a batch: so many that each of its steps takes 5 ms at most, as far as measured, and
    /// never more than [`BATCH_TOKENS`].
    pub(crate) fn turn_tokens(&self) -> usize {
        let steps = match &self.network {
            Network::Encoder(encoder, ..) => encoder.steps(),
            _ => 1,
        };
        let Some(seconds) = measured(&self.speed.mean) else { return BATCH_TOKENS };
        let tokens = STEP.as_secs_f64() * steps as f64 / seconds;
        // The float cast saturates.
        (tokens as usize).clamp(LEAST_TOKENS, BATCH_TOKENS)
    }

    /// Estimates the tokens of a text of so many bytes, as far as the model reads it.
    pub(crate) fn estimated_tokens(&self, bytes: usize) -> usize {
        (bytes / BYTES_A_TOKEN + SPECIAL_TOKENS).min(self.description.max_input_length.max(1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::tests::{encoder, toy};

    #[test]
    fn turn_shrinks_with_the_measured_speed() {
        for model in [toy(), encoder()] {
            assert_eq!((model.tokens_per_second(), model.turn_tokens()), (None, BATCH_TOKENS));
            model.record_speed(0, Duration::from_secs(1));
            assert_eq!(model.tokens_per_second(), None);
            model.record_speed(1000, Duration::from_secs(1000));
            assert!((model.tokens_per_second().unwrap() - 1.0).abs() < 1e-9);
            assert_eq!(model.turn_tokens(), LEAST_TOKENS);
            for _ in 0..100 {
                model.record_speed(4096, Duration::from_micros(1));
            }
            assert_eq!(model.turn_tokens(), BATCH_TOKENS, "it follows a machine that is faster again");
        }
    }

    #[test]
    fn cold_first_text_is_soon_outweighed() {
        let model = toy();
        model.record_speed(4, Duration::from_secs(1));
        assert_eq!(model.most_tokens_per_second(), None, "four tokens say little");
        model.record_speed(1020, Duration::from_secs(1));
        assert!((model.tokens_per_second().unwrap() - 512.0).abs() < 1e-6);
        for (tokens, seconds) in [(512, 100), (31, 0), (512, 0)] {
            model.record_speed(tokens, Duration::from_secs(seconds));
            let most = model.most_tokens_per_second().unwrap();
            assert!((most - 1020.0).abs() < 1e-6, "{tokens} tokens in {seconds} s: {most}");
        }
    }
}
