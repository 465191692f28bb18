//! Password hashes of the appointment system: what PHP's `password_hash` makes, and MD5 from before it.

use argon2::{Argon2, PasswordHash, PasswordVerifier as _};
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

/// Compared with when there is no such user: bcrypt at PHP's default cost, of a password that nobody has.
const NOBODY: &str = "$2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";

/// Whether `password` is the one of `hash`; never without a hash.
pub fn fits(password: &str, hash: Option<&str>) -> bool {
    let Some(hash) = hash.filter(|hash| !hash.is_empty()) else {
        // The same work as for a user who exists.
        let _ = bcrypt::verify(password, NOBODY);
        return false;
    };
    if hash.starts_with("$argon2") {
        let verify =
            |hash: PasswordHash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
        return PasswordHash::new(hash).is_ok_and(verify);
    }
    if hash.starts_with('$') {
        return bcrypt::verify(password, hash).unwrap_or(false);
    }
    let digest: String = Md5::digest(password).iter().map(|byte| format!("{byte:02x}")).collect();
    digest.as_bytes().ct_eq(hash.to_ascii_lowercase().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use argon2::PasswordHasher as _;

    use super::*;

    #[test]
    fn each_kind_of_hash_fits_its_password_only() {
        let argon2 = Argon2::default().hash_password_with_salt(b"U*U", b"a salt of its own").unwrap().to_string();
        // Known answers of bcrypt and MD5.
        let bcrypt = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
        for hash in [bcrypt, &bcrypt.replace("$2a$", "$2y$"), &argon2, "7fa3ef6b7e3d2c5d2b3c7c5c0b0b0b0b"] {
            assert_eq!(fits("U*U", Some(hash)), hash.starts_with('$'), "{hash}");
            assert!(!fits("U*V", Some(hash)), "{hash}");
        }
        for hash in ["5f4dcc3b5aa765d61d8327deb882cf99", "5F4DCC3B5AA765D61D8327DEB882CF99"] {
            assert!(fits("password", Some(hash)));
            assert!(!fits("Password", Some(hash)));
        }
    }

    #[test]
    fn nothing_fits_no_hash() {
        for hash in [None, Some(""), Some("$"), Some("$2y$10$"), Some("$argon2id$x"), Some("plain")] {
            for password in ["", "plain", "$"] {
                assert!(!fits(password, hash), "{hash:?} {password:?}");
            }
        }
    }
}
