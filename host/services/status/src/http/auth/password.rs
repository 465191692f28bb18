//! Password hashes of the appointment system: what PHP's `password_hash` makes, and MD5 from before it. Checking a
//! password takes as much work as the costliest hash of the table does, whoever's it is and whether there is such a user.

use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordVerifier as _, Version};
use bcrypt::HashParts;
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;

/// The least cost of bcrypt, a binary logarithm.
const LEAST_COST: u32 = 4;
/// Salt of work whose result nobody needs.
const SALT: [u8; 16] = *b"of nobody at all";

/// Work of hash functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Rounds of bcrypt.
    pub bcrypt_rounds: u64,
    /// Blocks of Argon2, 1 KiB each, over all passes.
    pub argon2_blocks: u64,
}

/// The work that every check takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    bcrypt_rounds: u64,
    /// Memory in KiB and passes of the costliest Argon2.
    argon2: Option<(u32, u32)>,
}

impl Level {
    /// The costliest of hashes, each with at least the beginning that says what it costs.
    pub fn of<'h>(beginnings: impl IntoIterator<Item = &'h str>) -> Self {
        let mut level = Self::default();
        for beginning in beginnings {
            level.bcrypt_rounds = level.bcrypt_rounds.max(bcrypt_rounds(beginning).unwrap_or_default());
            let blocks = |(memory, passes)| u64::from(memory) * u64::from(passes);
            level.argon2 =
                level.argon2.into_iter().chain(argon2_cost(beginning)).max_by_key(|cost| blocks(*cost));
        }
        level
    }

    /// Does what `done` is short of.
    fn fill(self, password: &str, done: &mut Work) {
        let mut rounds = self.bcrypt_rounds.saturating_sub(done.bcrypt_rounds);
        // A cost stands for a power of two, so what is missing is one run for each of its bits.
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
        // To within a pass, where a hash has another size of memory.
        let passes = u32::try_from(blocks / u64::from(memory.max(1))).unwrap_or(passes);
        let Ok(params) = Params::new(memory, passes, 1, None) else { return };
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        if argon2.hash_password_into(password.as_bytes(), &SALT, &mut [0; 32]).is_ok() {
            done.argon2_blocks += u64::from(memory) * u64::from(passes);
        }
    }
}

/// Whether `password` is the one of `hash`, never without a hash; and the work that it took, which is that of `level`
/// unless the hash itself takes more.
pub fn check(password: &str, hash: Option<&str>, level: Level) -> (bool, Work) {
    let mut work = Work::default();
    let fits = hash.filter(|hash| !hash.is_empty()).is_some_and(|hash| fits(password, hash, &mut work));
    level.fill(password, &mut work);
    (fits, work)
}

fn fits(password: &str, hash: &str, work: &mut Work) -> bool {
    if hash.starts_with("$argon2") {
        let Ok(parsed) = PasswordHash::new(hash) else { return false };
        let fits = Argon2::default().verify_password(password.as_bytes(), &parsed);
        // Other faults come before the work.
        if matches!(fits, Ok(()) | Err(argon2::password_hash::Error::PasswordInvalid)) {
            let (memory, passes) = argon2_cost(hash).unwrap_or_default();
            work.argon2_blocks += u64::from(memory) * u64::from(passes);
        }
        return fits.is_ok();
    }
    if hash.starts_with('$') {
        let Ok(fits) = bcrypt::verify(password, hash) else { return false };
        let cost = hash.parse::<HashParts>().map_or(0, |parts| parts.get_cost());
        work.bcrypt_rounds += 1 << cost;
        return fits;
    }
    let digest: String = Md5::digest(password).iter().map(|byte| format!("{byte:02x}")).collect();
    digest.as_bytes().ct_eq(hash.to_ascii_lowercase().as_bytes()).into()
}

/// Of `$2y$12$...`.
fn bcrypt_rounds(beginning: &str) -> Option<u64> {
    let (kind, rest) = beginning.strip_prefix('$')?.split_once('$')?;
    let cost = rest.split('$').next()?.parse().ok().filter(|cost| (LEAST_COST..=31).contains(cost));
    if matches!(kind, "2" | "2a" | "2b" | "2x" | "2y") { cost.map(|cost| 1 << cost) } else { None }
}

/// Memory in KiB and passes of `$argon2id$v=19$m=65536,t=4,p=1$...`.
fn argon2_cost(beginning: &str) -> Option<(u32, u32)> {
    let fields = beginning.strip_prefix("$argon2")?.split('$').find(|field| field.starts_with("m="))?;
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

    fn fits(password: &str, hash: Option<&str>) -> bool {
        check(password, hash, Level::default()).0
    }

    #[test]
    fn each_kind_of_hash_fits_its_password_only() {
        for hash in [BCRYPT, &BCRYPT.replace("$2a$", "$2y$"), &argon2(64, 2)] {
            assert!(fits("U*U", Some(hash)), "{hash}");
            assert!(!fits("U*V", Some(hash)), "{hash}");
        }
        assert!(!fits("U*U", Some("7fa3ef6b7e3d2c5d2b3c7c5c0b0b0b0b")));
        for hash in [PASSWORD_MD5, &PASSWORD_MD5.to_uppercase()] {
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

    #[test]
    fn every_user_costs_what_the_costliest_does() {
        let hashes = [bcrypt(4), bcrypt(6), bcrypt(8), argon2(64, 1), argon2(64, 3), PASSWORD_MD5.to_owned()];
        let level = Level::of(hashes.iter().map(String::as_str));
        let wanted = Work { bcrypt_rounds: 1 << 8, argon2_blocks: 64 * 3 };
        let known = hashes.iter().map(|hash| Some(hash.as_str()));
        for hash in known.chain([None, Some(""), Some("$2y$10$"), Some("$argon2id$x"), Some("plain")]) {
            for password in ["U*U", "wrong", "", "with\0nul"] {
                assert_eq!(check(password, hash, level).1, wanted, "{hash:?} {password:?}");
            }
        }
    }

    #[test]
    fn an_unknown_user_costs_what_one_hash_does() {
        for cost in 4..=9 {
            let hash = bcrypt(cost);
            // What the table's query gives of it.
            let level = Level::of(hash.get(..7));
            let known = check("wrong", Some(&hash), level).1;
            assert_eq!(known, Work { bcrypt_rounds: 1 << cost, argon2_blocks: 0 });
            assert_eq!(check("wrong", None, level).1, known, "cost {cost}");
        }
        let cheap = Level::of([PASSWORD_MD5, "plain", "", "$2y$", "$2y$99$", "$argon2id$"]);
        assert_eq!(cheap, Level::default());
        assert_eq!(check("wrong", None, cheap).1, Work::default());
    }
}
