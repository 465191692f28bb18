//! Turns a client's address into opaque keys, so that no guest sees the address.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwapOption;
use bulkhead_runtime::keys::{HmacHash, Key, MasterKey};
use sha2::{Digest as _, Sha256};

use crate::{config::Site, world::Client};

/// Shortest epoch of a pepper: the window of visits may be shorter.
const MIN_EPOCH: Duration = Duration::from_secs(3600);

/// Most master keys in use: each yields keys of two epochs, and the ledger counts a visit under at most eight keys.
const MAX_MASTERS: usize = 4;

/// Turns addresses into keys with a pepper that changes every epoch. Hosts with the same master key derive the same
/// pepper; former master keys yield keys too, so that a rotation keeps visit counts.
#[derive(Debug)]
pub struct Peppers {
    masters: Vec<MasterKey>,
    epoch_seconds: u64,
    /// Those of the last call: deriving them takes longer than using them.
    derived: ArcSwapOption<EpochPeppers>,
}

/// The peppers of an epoch and of the one before, those of the current master key first.
#[derive(Debug)]
struct EpochPeppers {
    epoch: u64,
    keys: Vec<Key>,
}

impl Peppers {
    /// Returns peppers whose epoch is at least `window`, so that the current and the last epoch cover it. `masters`
    /// holds the current master key first.
    pub fn new(masters: &[MasterKey], window: Duration) -> Self {
        let masters = masters.iter().take(MAX_MASTERS).cloned().collect();
        Self { masters, epoch_seconds: window.max(MIN_EPOCH).as_secs(), derived: ArcSwapOption::empty() }
    }

    /// Returns the keys of `text` in this epoch and the one before, those of the current master key first.
    fn keys(&self, text: &str, now: Duration) -> Vec<String> {
        let epoch = now.as_secs().checked_div(self.epoch_seconds).unwrap_or(0);
        let peppers = self.of_epoch(epoch);
        peppers.keys.iter().map(|pepper| digits(pepper.hmac(HmacHash::Sha256, text.as_bytes()))).collect()
    }

    fn of_epoch(&self, epoch: u64) -> Arc<EpochPeppers> {
        if let Some(derived) = self.derived.load_full().filter(|derived| derived.epoch == epoch) {
            return derived;
        }
        let key = |master: &MasterKey, epoch: u64| {
            Key::new(master.derive(b"captcha address pepper", &epoch.to_be_bytes()))
        };
        let epochs = [epoch, epoch.wrapping_sub(1)];
        let keys = self.masters.iter().flat_map(|master| epochs.map(|epoch| key(master, epoch)));
        let derived = Arc::new(EpochPeppers { epoch, keys: keys.collect() });
        self.derived.store(Some(Arc::clone(&derived)));
        derived
    }

    /// Returns what `site` may know of the client at `address` at `now` (since the Unix epoch).
    pub fn client(&self, site: &Site, address: IpAddr, now: Duration) -> Client {
        let address = address.to_canonical();
        let network = text(network(site, address));
        let allow_listed = site.whitelisted_source_addresses.iter().any(|range| range.contains(&address));
        if site.compat {
            return Client {
                network: vec![java_hash(&network)],
                exact: vec![java_hash(&text(address))],
                allow_listed,
            };
        }
        // Different texts, so that the key of a network reveals nothing about keys of its addresses.
        let exact = format!("address {}", text(address));
        Client { network: self.keys(&network, now), exact: self.keys(&exact, now), allow_listed }
    }
}

/// Returns the network of `address` by the site's prefix lengths.
fn network(site: &Site, address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let host_bits = 32_u32.saturating_sub(site.source_address_ipv4_net_size.into());
            Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(host_bits).unwrap_or(0)).into()
        }
        IpAddr::V6(address) => {
            let host_bits = 128_u32.saturating_sub(site.source_address_ipv6_net_size.into());
            Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(host_bits).unwrap_or(0)).into()
        }
    }
}

/// Formats an address as Java does: IPv4 dotted; IPv6 as eight groups, neither compressed nor padded.
fn text(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => address.segments().map(|group| format!("{group:x}")).join(":"),
    }
}

/// Returns captchaservice's key: an unsalted hash, which anyone can reverse by trying all addresses.
fn java_hash(text: &str) -> String {
    digits(Sha256::digest(text))
}

/// Returns the hex digits of a hash. `hex::encode` appends them as characters, one by one, in longer than the hash takes.
fn digits(hash: impl AsRef<[u8]>) -> String {
    let hash = hash.as_ref();
    let mut digits = vec![0; 2 * hash.len()];
    // They are ASCII and fill the buffer, so that neither fails.
    let _ = hex::encode_to_slice(hash, &mut digits);
    String::from_utf8(digits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{MIN_EPOCH, MasterKey, Peppers, java_hash, network, text};
    use crate::config::Site;

    fn masked(address: &str, v4: u8, v6: u8) -> String {
        let site =
            Site { source_address_ipv4_net_size: v4, source_address_ipv6_net_size: v6, ..Site::default() };
        text(network(&site, address.parse().unwrap()))
    }

    #[test]
    fn keys_follow_their_epoch() {
        let masters = [MasterKey::new("one"), MasterKey::new("two")];
        let (peppers, other) = (Peppers::new(&masters, MIN_EPOCH), Peppers::new(&masters, MIN_EPOCH));
        let at = |epoch: u32| peppers.keys("192.0.2.1", MIN_EPOCH * epoch);
        let first = at(7);
        assert_eq!(first.len(), 4);
        assert_ne!(first, at(8));
        assert_eq!(first.first(), at(8).get(1), "the epoch before");
        assert_eq!(first, at(7));
        assert_eq!(first, other.keys("192.0.2.1", MIN_EPOCH * 7));
        assert_ne!(first, peppers.keys("192.0.2.2", MIN_EPOCH * 7));
    }

    #[test]
    fn ipv4_addresses_are_masked() {
        assert_eq!(masked("192.168.1.100", 24, 128), "192.168.1.0");
        assert_eq!(masked("192.168.1.100", 16, 128), "192.168.0.0");
        assert_eq!(masked("192.168.1.100", 8, 128), "192.0.0.0");
        assert_eq!(masked("192.168.1.100", 20, 128), "192.168.0.0");
        assert_eq!(masked("10.10.10.10", 13, 128), "10.8.0.0");
        assert_eq!(masked("192.168.1.100", 32, 128), "192.168.1.100");
        assert_eq!(masked("192.168.1.100", 0, 128), "0.0.0.0");
    }

    #[test]
    fn ipv6_addresses_are_masked() {
        let address = "2001:db8:85a3:8d3:1319:8a2e:370:7348";
        assert_eq!(masked(address, 32, 64), "2001:db8:85a3:8d3:0:0:0:0");
        assert_eq!(masked(address, 32, 32), "2001:db8:0:0:0:0:0:0");
        assert_eq!(masked(address, 32, 70), "2001:db8:85a3:8d3:1000:0:0:0");
        assert_eq!(masked(address, 32, 128), address);
        assert_eq!(masked(address, 32, 0), "0:0:0:0:0:0:0:0");
    }

    #[test]
    fn compatible_hashes_match_the_java_service() {
        assert_eq!(java_hash("1.2.3.4"), "6694f83c9f476da31f5df6bcc520034e7e57d421d247b9d34f49edbfc84a764c");
        assert_eq!(
            java_hash("ea28:fb8:e3f6:2836:0:0:0:0"),
            "6f70f5e3d3975f74b80d7b8bc483949bd404ae619bb1f0b7869c1f4d5b575019"
        );
    }
}
