//! Texts as words.

/// The words of `text` in lower case: runs of letters and digits. Every digit is written `0`, so that
/// numbers of one shape (years, postcodes, references) are one word.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if character.is_numeric() {
            word.push('0');
        } else if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
