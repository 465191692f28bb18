//! Conversions between WIT records and plain types.

use super::{Error, wit};
use crate::issue::Issued;
use crate::policy::{AutoPolicy, Binding, Client, Difficulty, LadderStep, Protocol, Site};
use crate::verdict::{Reason, Verdict};

impl From<wit::Site> for Site {
    fn from(site: wit::Site) -> Self {
        Self {
            key: site.key,
            compat: site.compat,
            protocol: match site.protocol {
                wit::Protocol::V1 => Protocol::V1,
                wit::Protocol::V2 => Protocol::V2,
            },
            accept_v1: site.accept_v1,
            algorithm: site.algorithm,
            memory_cost: site.memory_cost,
            parallelism: site.parallelism,
            deterministic: site.deterministic,
            counter_max: site.counter_max,
            difficulty: site.difficulty.into(),
            binding: match site.binding {
                wit::Binding::None => Binding::None,
                wit::Binding::Network => Binding::Network,
                wit::Binding::Exact => Binding::Exact,
            },
            timeout_seconds: site.timeout_seconds,
            max_verifies: site.max_verifies,
            max_failures: site.max_failures,
            signing_key: site.signing_key,
            key_signing_key: site.key_signing_key,
        }
    }
}

impl From<wit::Difficulty> for Difficulty {
    fn from(difficulty: wit::Difficulty) -> Self {
        let (ladder, auto) = match difficulty {
            wit::Difficulty::Ladder(ladder) => (ladder, None),
            wit::Difficulty::Auto((ladder, auto)) => (ladder, Some(auto)),
        };
        let step = |wit::LadderStep { min_visits, cost }| LadderStep { min_visits, cost };
        let policy = |wit::AutoPolicy { target_solve_ms, min_cost, max_cost }| AutoPolicy {
            target_solve_ms,
            min_cost,
            max_cost,
        };
        Self { ladder: ladder.into_iter().map(step).collect(), auto: auto.map(policy) }
    }
}

impl From<wit::Client> for Client {
    fn from(client: wit::Client) -> Self {
        let wit::Client { network, exact, allow_listed } = client;
        Self { network, exact, allow_listed }
    }
}

impl From<Issued> for wit::Issued {
    fn from(issued: Issued) -> Self {
        let Issued { challenge, cost, visits } = issued;
        Self { challenge, cost, visits }
    }
}

impl From<Verdict> for wit::Verdict {
    fn from(verdict: Verdict) -> Self {
        Self {
            rejected: verdict.rejected.map(wit::Reason::from),
            cost: verdict.cost,
            reported_time_ms: verdict.reported_time_ms,
            expires_at: verdict.expires_at,
            action: verdict.action,
        }
    }
}

impl From<Reason> for wit::Reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Expired => Self::Expired,
            Reason::Replayed => Self::Replayed,
            Reason::BadSignature => Self::BadSignature,
            Reason::WrongSolution => Self::WrongSolution,
            Reason::WrongSite => Self::WrongSite,
            Reason::WrongClient => Self::WrongClient,
            Reason::WrongAction => Self::WrongAction,
            Reason::TooManyFailures => Self::TooManyFailures,
        }
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Malformed(text) => Self::Malformed(text),
            Error::Busy(seconds) => Self::Busy(seconds),
            Error::Internal(text) => Self::Internal(text),
        }
    }
}
