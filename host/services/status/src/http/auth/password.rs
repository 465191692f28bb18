//! Checks passwords against hashes of the appointment system: those of PHP's `password_hash`, and older MD5. Every check
//! takes as much work as the costliest hash of the table, also for an unknown user.

use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordVerifier as _, Version};
use bcrypt::HashParts;
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

/// The lowest cost of bcrypt, a binary logarithm.
const LEAST_COST: u32 = 4;
/// Salt of padding work, whose result is discarded.
const SALT: [u8; 16] = *b"salt of no user!";

/// The work that hash functions have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordWork {
    /// Number of rounds of bcrypt.
    pub bcrypt_rounds: u64,
    /// Number of blocks of Argon2, 1 KiB each, over all passes.
    pub argon2_blocks: u64,
}

/// The amount of work that every check takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkFactor {
    bcrypt_rounds: u64,
    /// Memory in KiB and passes of the costliest Argon2.
    argon2: Option<(u32, u32)>,
}

impl WorkFactor {
    /// Returns the work of the costliest of hashes, of which the prefix with the cost suffices.
    pub fn of<'h>(prefixes: impl IntoIterator<Item = &'h str>) -> Self {
        let mut work_factor = Self::default();
        for prefix in prefixes {
            work_factor.bcrypt_rounds =
                work_factor.bcrypt_rounds.max(bcrypt_rounds(prefix).unwrap_or_default());
            let blocks = |(memory, passes)| u64::from(memory) * u64::from(passes);
            work_factor.argon2 =
                work_factor.argon2.into_iter().chain(argon2_cost(prefix)).max_by_key(|cost| blocks(*cost));
        }
        work_factor
    }

    /// Does the work that `done` lacks.
    fn pad(self, password: &str, done: &mut PasswordWork) {
        let mut rounds = self.bcrypt_rounds.saturating_sub(done.bcrypt_rounds);
        // A cost is a power of two, so each bit of the missing rounds takes one run.
        while rounds >= 1 << LEAST_COST {
            let cost = rounds.ilog2();
            if bcrypt::hash_with_salt(password, cost, SALT).is_err() {
                break;
            }
            done.bcrypt_rounds += 1 << cost;
            rounds -= 1 << cost;
        }
        let Some((memory, passes)) = self.argon2 else { return };
        let blocks = (u64::from(memory) * u64::from(passes)).saturating_sub(done.argon2_blocks);
        // Rounded down to whole passes, where a hash has another memory size.
        let passes = u32::try_from(blocks / u64::from(memory.max(1))).unwrap_or(passes);
        let Ok(params) = Params::new(memory, passes, 1, None) else { return };
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        if argon2.hash_password_into(password.as_bytes(), &SALT, &mut [0; 32]).is_ok() {
            done.argon2_blocks += u64::from(memory) * u64::from(passes);
        }
    }
}

/// Checks whether `password` matches `hash`; without a hash it does not. Returns also the work that the check took: that of
/// `work_factor`, unless the hash itself takes more.
pub fn check(password: &str, hash: Option<&str>, work_factor: WorkFactor) -> (bool, PasswordWork) {
    let mut work = PasswordWork::default();
    let matches = hash.filter(|hash| !hash.is_empty()).is_some_and(|hash| verify(password, hash, &mut work));
    work_factor.pad(password, &mut work);
    (matches, work)
}

/// Verifies `password` against `hash` and adds the work to `work`.
fn verify(password: &str, hash: &str, work: &mut PasswordWork) -> bool {
    if hash.starts_with("$argon2") {
        let Ok(parsed) = PasswordHash::new(hash) else { return false };
        let verified = Argon2::default().verify_password(password.as_bytes(), &parsed);
        // Other errors occur before the work.
        if matches!(verified, Ok(()) | Err(argon2::password_hash::Error::PasswordInvalid)) {
            let (memory, passes) = argon2_cost(hash).unwrap_or_default();
            work.argon2_blocks += u64::from(memory) * u64::from(passes);
        }
        return verified.is_ok();
    }
    if hash.starts_with('$') {
        let Ok(matches) = bcrypt::verify(password, hash) else { return false };
        let cost = hash.parse::<HashParts>().map_or(0, |parts| parts.get_cost());
        work.bcrypt_rounds += 1 << cost;
        return matches;
    }
    let digest: String = Md5::digest(password).iter().map(|byte| format!("{byte:02x}")).collect();
    digest.as_bytes().ct_eq(hash.to_ascii_lowercase().as_bytes()).into()
}

/// Parses the rounds of `$2y$12$...`.
fn bcrypt_rounds(prefix: &str) -> Option<u64> {
    let (kind, rest) = prefix.strip_prefix('$')?.split_once('$')?;
    let cost = rest.split('$').next()?.parse().ok().filter(|cost| (LEAST_COST..=31).contains(cost));
    if matches!(kind, "2" | "2a" | "2b" | "2x" | "2y") { cost.map(|cost| 1 << cost) } else { None }
}

/// Parses memory in KiB and passes of `$argon2id$v=19$m=65536,t=4,p=1$...`.
fn argon2_cost(prefix: &str) -> Option<(u32, u32)> {
    let fields = prefix.strip_prefix("$argon2")?.split('$').find(|field| field.starts_with("m="))?;
    let field = |name: &str| fields.split(',').find_map(|field| field.strip_prefix(name)?.parse().ok());
    Some((field("m=")?, field("t=")?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use argon2::PasswordHasher as _;

    use super::*;

    /// Known answers of bcrypt and MD5.
    const BCRYPT: &str = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    const PASSWORD_MD5: &str = "5f4dcc3b5aa765d61d8327deb882cf99";

    fn argon2(memory: u32, passes: u32) -> String {
        let argon2 =
            Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(memory, passes, 1, None).unwrap());
        argon2.hash_password_with_salt(b"U*U", &SALT).unwrap().to_string()
    }

    fn bcrypt(cost: u32) -> String {
        bcrypt::hash_with_salt("U*U", cost, SALT).unwrap().to_string()
    }

    fn matches_hash(password: &str, hash: Option<&str>) -> bool {
        check(password, hash, WorkFactor::default()).0
    }

    #[test]
    fn hashes_match_only_their_password() {
        for hash in [BCRYPT, &BCRYPT.replace("$2a$", "$2y$"), &argon2(64, 2)] {
            assert!(matches_hash("U*U", Some(hash)), "{hash}");
            assert!(!matches_hash("U*V", Some(hash)), "{hash}");
        }
        assert!(!matches_hash("U*U", Some("7fa3ef6b7e3d2c5d2b3c7c5c0b0b0b0b")));
        for hash in [PASSWORD_MD5, &PASSWORD_MD5.to_uppercase()] {
            assert!(matches_hash("password", Some(hash)));
            assert!(!matches_hash("Password", Some(hash)));
        }
    }

    #[test]
    fn missing_hash_matches_no_password() {
        for hash in [None, Some(""), Some("$"), Some("$2y$10$"), Some("$argon2id$x"), Some("plain")] {
            for password in ["", "plain", "$"] {
                assert!(!matches_hash(password, hash), "{hash:?} {password:?}");
            }
        }
    }

    #[test]
    fn every_check_takes_the_maximum_work() {
        let hashes = [bcrypt(4), bcrypt(6), bcrypt(8), argon2(64, 1), argon2(64, 3), PASSWORD_MD5.to_owned()];
        let work_factor = WorkFactor::of(hashes.iter().map(String::as_str));
        let expected = PasswordWork { bcrypt_rounds: 1 << 8, argon2_blocks: 64 * 3 };
        let known = hashes.iter().map(|hash| Some(hash.as_str()));
        for hash in known.chain([None, Some(""), Some("$2y$10$"), Some("$argon2id$x"), Some("plain")]) {
            for password in ["U*U", "wrong", "", "with\0nul"] {
                assert_eq!(check(password, hash, work_factor).1, expected, "{hash:?} {password:?}");
            }
        }
    }

    #[test]
    fn unknown_user_takes_the_same_work() {
        for cost in 4..=9 {
            let hash = bcrypt(cost);
            // The prefix that the query of the table returns.
            let work_factor = WorkFactor::of(hash.get(..7));
            let known = check("wrong", Some(&hash), work_factor).1;
            assert_eq!(known, PasswordWork { bcrypt_rounds: 1 << cost, argon2_blocks: 0 });
            assert_eq!(check("wrong", None, work_factor).1, known, "cost {cost}");
        }
        let cheap = WorkFactor::of([PASSWORD_MD5, "plain", "", "$2y$", "$2y$99$", "$argon2id$"]);
        assert_eq!(cheap, WorkFactor::default());
        assert_eq!(check("wrong", None, cheap).1, PasswordWork::default());
    }
}
