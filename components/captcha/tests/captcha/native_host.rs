//! An in-memory host: RustCrypto for keys and derivations, maps for the ledger, a clock that tests move.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use bulkhead_captcha::algorithm::{Algorithm, Hash};
use bulkhead_captcha::error::Error;
use bulkhead_captcha::host::{Host, Load, Minted, Signature, Visits, Work};
use bulkhead_captcha::policy::{Binding, Client, Difficulty, LadderStep, Protocol, Site};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

pub const NOW: u64 = 1_800_000_000;

/// Keys by name: id and secret, the current one first.
type Keys = HashMap<String, Vec<(String, Vec<u8>)>>;

#[derive(Default)]
pub struct NativeHost {
    pub now: Cell<f64>,
    pub keys: RefCell<Keys>,
    pub visits: RefCell<HashMap<String, u64>>,
    pub load: Cell<Load>,
    /// How often each id was spent, and until when that is remembered.
    pub spent: RefCell<HashMap<String, (u32, u64)>>,
    pub failures: RefCell<HashMap<String, u32>>,
    pub derivations: Cell<u32>,
    pub busy: Cell<bool>,
    random: Cell<u64>,
}

impl NativeHost {
    /// Creates a host with the keys `site` and `key`.
    pub fn new() -> Self {
        let host = Self::default();
        host.now.set(NOW as f64);
        host.set_key("site", "1", "signing secret");
        host.set_key("key", "k1", "key-signing secret");
        host
    }

    /// Replaces all keys of this name by one.
    pub fn set_key(&self, name: &str, id: &str, secret: &str) {
        self.keys.borrow_mut().insert(name.to_owned(), vec![(id.to_owned(), secret.into())]);
    }

    /// Makes another key the current one; the others are still accepted.
    pub fn rotate(&self, name: &str, id: &str, secret: &str) {
        let mut keys = self.keys.borrow_mut();
        keys.get_mut(name).unwrap().insert(0, (id.to_owned(), secret.into()));
    }
}

impl Host for NativeHost {
    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.now.get())
    }

    fn random(&self, length: usize) -> Vec<u8> {
        self.random.set(self.random.get() + 1);
        let block = Sha256::digest(self.random.get().to_be_bytes());
        block.iter().copied().cycle().take(length).collect()
    }

    fn sign(&self, key: &str, hash: Hash, data: &[u8]) -> Result<Signature, Error> {
        let keys = self.keys.borrow();
        let unknown = || Error::Internal(format!("unknown key {key}"));
        let (key_id, secret) = keys.get(key).ok_or_else(unknown)?.first().unwrap();
        Ok(Signature { key_id: key_id.clone(), tag: hmac(hash, secret, data) })
    }

    fn is_signed(
        &self,
        key: &str,
        key_id: Option<&str>,
        hash: Hash,
        data: &[u8],
        tag: &[u8],
    ) -> Result<bool, Error> {
        let keys = self.keys.borrow();
        let keys = keys.get(key).ok_or_else(|| Error::Internal(format!("unknown key {key}")))?;
        let mut accepted = keys.iter().filter(|(id, _)| key_id.is_none_or(|wanted| wanted == id));
        Ok(accepted.any(|(_, secret)| hmac(hash, secret, data) == tag))
    }

    fn derive(&self, work: &Work, password: &[u8], salt: &[u8]) -> Result<Vec<u8>, Error> {
        if self.busy.get() {
            return Err(Error::Busy(7));
        }
        self.derivations.set(self.derivations.get() + 1);
        Ok(derive(work, password, salt))
    }

    fn mint(&self, work: &Work, counter_max: u32) -> Result<Minted, Error> {
        let (nonce, salt) = (self.random(16), self.random(16));
        let counter = 1 + u32::from(self.random(1)[0]) % counter_max;
        let password = [nonce.as_slice(), &counter.to_be_bytes()].concat();
        let derived_key = self.derive(work, &password, &salt)?;
        Ok(Minted { nonce, salt, counter, derived_key })
    }

    fn record_visit(&self, _site: &str, client: &[String], _allow_listed: bool) -> Result<Visits, Error> {
        let mut visits = self.visits.borrow_mut();
        let counted = client.iter().filter_map(|key| visits.get(key)).sum();
        *visits.entry(client.first().cloned().unwrap_or_default()).or_default() += 1;
        Ok(Visits { client: counted, site: counted })
    }

    fn load(&self, _site: &str) -> Result<Load, Error> {
        Ok(self.load.get())
    }

    fn spent(&self, id: &str) -> Result<u32, Error> {
        Ok(self.spent.borrow().get(id).map_or(0, |(times, _)| *times))
    }

    fn claim(&self, id: &str, expires_at: u64, limit: u32, all: bool) -> Result<bool, Error> {
        assert!(id.len() == 64 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
        let mut spent = self.spent.borrow_mut();
        let (times, until) = spent.entry(id.to_owned()).or_default();
        let left = limit.saturating_sub(*times);
        *times += if all { left } else { left.min(1) };
        *until = expires_at;
        Ok(left > 0)
    }

    fn record_failure(&self, id: &str, _expires_at: u64) -> Result<u32, Error> {
        let mut failures = self.failures.borrow_mut();
        let count = failures.entry(id.to_owned()).or_default();
        *count += 1;
        Ok(*count)
    }

    fn warn(&self, _message: &str) {}
}

fn hmac(hash: Hash, secret: &[u8], data: &[u8]) -> Vec<u8> {
    fn tag<M: Mac + KeyInit>(secret: &[u8], data: &[u8]) -> Vec<u8> {
        let mut mac = <M as KeyInit>::new_from_slice(secret).unwrap();
        mac.update(data);
        mac.finalize().into_bytes().to_vec()
    }
    match hash {
        Hash::Sha1 => tag::<Hmac<Sha1>>(secret, data),
        Hash::Sha256 => tag::<Hmac<Sha256>>(secret, data),
        Hash::Sha384 => tag::<Hmac<Sha384>>(secret, data),
        Hash::Sha512 => tag::<Hmac<Sha512>>(secret, data),
    }
}

fn derive(work: &Work, password: &[u8], salt: &[u8]) -> Vec<u8> {
    let mut key = vec![0; work.key_length as usize];
    match work.algorithm {
        Algorithm::Sha(hash) => {
            let mut digest = hash.digest(&[salt, password].concat());
            for _ in 1..work.cost {
                digest = hash.digest(&digest);
            }
            digest.resize(key.len(), 0);
            return digest;
        }
        Algorithm::Pbkdf2(Hash::Sha512) => {
            pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, work.cost, &mut key);
        }
        Algorithm::Pbkdf2(Hash::Sha384) => {
            pbkdf2::pbkdf2_hmac::<Sha384>(password, salt, work.cost, &mut key);
        }
        Algorithm::Pbkdf2(_) => {
            pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, work.cost, &mut key);
        }
        Algorithm::Scrypt => {
            let log_n = work.cost.ilog2() as u8;
            let params = scrypt::Params::new(log_n, work.memory_cost, work.parallelism).unwrap();
            scrypt::scrypt(password, salt, &params, &mut key).unwrap();
        }
        Algorithm::Argon2id => {
            let params = argon2::Params::new(work.memory_cost, work.cost, work.parallelism, None).unwrap();
            let argon2id = argon2::Algorithm::Argon2id;
            argon2::Argon2::new(argon2id, argon2::Version::V0x13, params)
                .hash_password_into(password, salt, &mut key)
                .unwrap();
        }
    }
    key
}

/// Returns a site in its default mode, but cheap.
pub fn site() -> Site {
    Site {
        key: "site-a".to_owned(),
        compat: false,
        protocol: Protocol::V2,
        accept_v1: false,
        algorithm: "PBKDF2/SHA-256".to_owned(),
        memory_cost: None,
        parallelism: None,
        deterministic: true,
        counter_max: 16,
        difficulty: Difficulty { ladder: vec![LadderStep { min_visits: 1, cost: 5 }], auto: None },
        binding: Binding::None,
        timeout_seconds: 300,
        max_verifies: 1,
        max_failures: 3,
        signing_key: "site".to_owned(),
        key_signing_key: "key".to_owned(),
    }
}

/// Returns a site in compat mode.
pub fn compat_site() -> Site {
    Site {
        compat: true,
        algorithm: "SHA-256".to_owned(),
        deterministic: false,
        key_signing_key: String::new(),
        ..site()
    }
}

/// Returns a client by the last part of its address.
pub fn client(name: &str) -> Client {
    let keys = |kind| vec![format!("{kind}-{name}-new"), format!("{kind}-{name}-old")];
    Client { network: keys("net"), exact: keys("ip"), allow_listed: false }
}
