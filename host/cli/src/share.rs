//! Parses shares, which are numbers from 0 to 1, as arguments.

/// Reads a share. A number outside 0 to 1 is refused, because every figure would reach it or none.
///
/// # Errors
/// Says what a share is.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1, as in 0.95".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_from_0_to_1() {
        for (text, number) in [("0", 0.0), ("1", 1.0), ("0.95", 0.95), ("9e-1", 0.9)] {
            assert_eq!(share(text), Ok(number));
        }
        for text in ["nan", "inf", "-inf", "-1", "1.5", "90", "90%", "", "0,9"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
