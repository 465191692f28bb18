"""A captcha component: proof-of-work challenges of the ALTCHA protocol, version 2, and their verification.

The price of a challenge is the policy of `price`: change it. The host keeps the keys and the ledger, and does the work.
"""

import json
from typing import Optional

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import challenges
from wit_world.exports.challenges import Client, Issued, Reason, Site, Verdict
from wit_world.imports import keys, ledger, pow, wall_clock

KEY_BYTES = 32
PREFIX_BYTES = 16
RETRY_SECONDS = 5


def internal(text: str) -> Err:
    return Err(challenges.Error_Internal(text))


def asked(function, *arguments):
    """Calls the host, and turns its errors into those of a captcha component."""
    try:
        return function(*arguments)
    except Err as error:
        if isinstance(error.value, pow.Error_Busy):
            raise Err(challenges.Error_Busy(error.value.value)) from None
        if isinstance(error.value, ledger.Error_Unavailable):
            raise Err(challenges.Error_Busy(RETRY_SECONDS)) from None
        raise internal(error.value.value) from None


def price(site: Site, client: Client, visits: int) -> int:
    """Returns the cost of a challenge: the last step of the site's ladder that the client has reached."""
    if client.allow_listed:
        return 1
    difficulty = site.difficulty
    ladder = difficulty.value if isinstance(difficulty, challenges.Difficulty_Ladder) else difficulty.value[0]
    reached = [step.cost for step in ladder if step.min_visits <= visits]
    return reached[-1] if reached else 1


def work(cost: int) -> pow.Parameters:
    return pow.Parameters(pow.Algorithm.SHA256, cost, 0, 1, KEY_BYTES)


def signed(site: Site, parameters: dict) -> bytes:
    """Returns the text over which a challenge is signed."""
    names = ("cost", "expiresAt", "nonce", "salt", "keyPrefix", "action")
    return "|".join([site.key] + [str(parameters.get(name, "")) for name in names]).encode()


def parse(payload: str) -> tuple[dict, str, int, Optional[float]]:
    """Reads a payload: the challenge's parameters and signature, the counter and the time of the work."""
    try:
        read = json.loads(payload)
        challenge, solution = read["challenge"], read["solution"]
        parameters, signature = challenge["parameters"], challenge["signature"]
        bytes.fromhex(parameters["nonce"]), bytes.fromhex(parameters["salt"]), bytes.fromhex(signature)
        counter, cost, expires_at = solution["counter"], parameters["cost"], parameters["expiresAt"]
        if not all(isinstance(number, int) and 0 <= number < 1 << 32 for number in (counter, cost, expires_at)):
            raise ValueError
        # An empty prefix would ask for no work.
        if len(bytes.fromhex(parameters["keyPrefix"])) != PREFIX_BYTES:
            raise ValueError
        time = solution.get("time")
        return parameters, signature, counter, float(time) if time is not None else None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Err(challenges.Error_Malformed("the payload is not a solved challenge")) from None


def is_signed(site: Site, parameters: dict, signature: str) -> bool:
    tag = bytes.fromhex(signature)
    return asked(keys.hmac_verify, site.signing_key, None, keys.Hash.SHA256, signed(site, parameters), tag)


class Challenges(exports.Challenges):
    def issue(self, site: Site, client: Client, action: Optional[str]) -> Issued:
        visits = asked(ledger.record_visit, site.key, client.network, client.allow_listed).client + 1
        cost = price(site, client, visits)
        minted = asked(pow.mint, work(cost), site.counter_max)
        parameters = {
            "algorithm": "SHA-256",
            "cost": cost,
            "keyLength": KEY_BYTES,
            "expiresAt": wall_clock.now().seconds + site.timeout_seconds,
            "nonce": minted.nonce.hex(),
            "salt": minted.salt.hex(),
            "keyPrefix": minted.derived_key[:PREFIX_BYTES].hex(),
        }
        if action is not None:
            parameters["action"] = action
        signature = asked(keys.hmac_sign, site.signing_key, keys.Hash.SHA256, signed(site, parameters))
        challenge = {"parameters": parameters, "signature": signature.tag.hex()}
        return Issued(json.dumps(challenge), cost, visits)

    def verify(self, site: Site, client: Client, payload: str, action: Optional[str]) -> Verdict:
        parameters, signature, counter, time = parse(payload)
        if not is_signed(site, parameters, signature):
            return Verdict(Reason.BAD_SIGNATURE, None, time, None, None)
        cost, expires_at = parameters["cost"], parameters["expiresAt"]

        def verdict(reason: Optional[Reason]) -> Verdict:
            return Verdict(reason, cost, time, expires_at, parameters.get("action"))

        if expires_at < wall_clock.now().seconds:
            return verdict(Reason.EXPIRED)
        if action is not None and parameters.get("action") != action:
            return verdict(Reason.WRONG_ACTION)
        password = bytes.fromhex(parameters["nonce"]) + counter.to_bytes(4, "big")
        derived = asked(pow.derive, work(cost), password, bytes.fromhex(parameters["salt"]))
        if not derived.hex().startswith(parameters["keyPrefix"]):
            failures = asked(ledger.record_failure, signature, expires_at)
            return verdict(Reason.TOO_MANY_FAILURES if failures > site.max_failures else Reason.WRONG_SOLUTION)
        is_first = asked(ledger.claim, signature, expires_at, site.max_verifies, False)
        return verdict(None if is_first else Reason.REPLAYED)

    def invalidate(self, site: Site, payload: str) -> bool:
        parameters, signature, _, _ = parse(payload)
        if not is_signed(site, parameters, signature):
            return False
        return asked(ledger.claim, signature, parameters["expiresAt"], site.max_verifies, True)


class WitWorld:
    def self_test(self) -> None:
        try:
            signature = keys.hmac_sign("self-test", keys.Hash.SHA256, b"self-test")
            if not keys.hmac_verify("self-test", None, keys.Hash.SHA256, b"self-test", signature.tag):
                raise Err("a signature just made is not accepted")
            pow.mint(work(1), 1)
        except Err as error:
            raise Err(error.value if isinstance(error.value, str) else str(error.value.value)) from None
