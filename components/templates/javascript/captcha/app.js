// A captcha component: proof-of-work challenges of the ALTCHA protocol, version 2, and their verification.
//
// The price of a challenge is the policy of `price`: change it. The host keeps the keys and the ledger, and does the work.

import { hmacSign, hmacVerify } from "bulkhead:host/keys@0.1.1";
import { claim, recordFailure, recordVisit } from "bulkhead:captcha/ledger@0.1.1";
import { derive, mint } from "bulkhead:captcha/pow@0.1.1";
import { now } from "wasi:clocks/wall-clock@0.2.12";

const KEY_BYTES = 32;
const PREFIX_BYTES = 16;
const RETRY_SECONDS = 5;

const encoder = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const isHex = (text) => typeof text === "string" && /^([0-9a-f]{2})+$/.test(text);
const bytes = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const isCount = (number) => Number.isInteger(number) && number >= 0 && number < 2 ** 32;

// Calls the host, and turns its errors into those of a captcha component.
function asked(call) {
  try {
    return call();
  } catch (error) {
    const { tag, val } = error.payload ?? { tag: "invalid", val: String(error) };
    if (tag === "busy") throw { tag: "busy", val };
    if (tag === "unavailable") throw { tag: "busy", val: RETRY_SECONDS };
    throw { tag: "internal", val };
  }
}

// Returns the cost of a challenge: the last step of the site's ladder that the client has reached.
function price(site, client, visits) {
  if (client.allowListed) return 1;
  const { tag, val } = site.difficulty;
  const ladder = tag === "ladder" ? val : val[0];
  const reached = ladder.filter((step) => step.minVisits <= visits);
  return reached.at(-1)?.cost ?? 1;
}

const work = (cost) => ({ algorithm: "sha256", cost, memoryCost: 0, parallelism: 1, keyLength: KEY_BYTES });

// Returns the text over which a challenge is signed.
function signed(site, parameters) {
  const { cost, expiresAt, nonce, salt, keyPrefix, action } = parameters;
  return encoder.encode([site.key, cost, expiresAt, nonce, salt, keyPrefix, action ?? ""].join("|"));
}

// Reads a payload: the challenge's parameters and signature, the counter and the time of the work.
function parse(payload) {
  try {
    const { challenge, solution } = JSON.parse(payload);
    const { parameters, signature } = challenge;
    const { counter, time } = solution;
    const { cost, expiresAt, nonce, salt, keyPrefix } = parameters;
    const isWhole = [counter, cost, expiresAt].every(isCount) && [nonce, salt, signature, keyPrefix].every(isHex);
    // An empty prefix would ask for no work.
    if (isWhole && keyPrefix.length === 2 * PREFIX_BYTES) {
      return { parameters, signature, counter, time: typeof time === "number" ? time : undefined };
    }
  } catch {
    // Refused below.
  }
  throw { tag: "malformed", val: "the payload is not a solved challenge" };
}

const isSigned = (site, parameters, signature) =>
  asked(() => hmacVerify(site.signingKey, undefined, "sha256", signed(site, parameters), bytes(signature)));

export const challenges = {
  issue(site, client, action) {
    const visits = asked(() => recordVisit(site.key, client.network, client.allowListed)).client + 1n;
    const cost = price(site, client, visits);
    const minted = asked(() => mint(work(cost), site.counterMax));
    const parameters = {
      algorithm: "SHA-256",
      cost,
      keyLength: KEY_BYTES,
      expiresAt: Number(now().seconds) + site.timeoutSeconds,
      nonce: hex(minted.nonce),
      salt: hex(minted.salt),
      keyPrefix: hex(minted.derivedKey.slice(0, PREFIX_BYTES)),
    };
    if (action !== undefined) parameters.action = action;
    const { tag } = asked(() => hmacSign(site.signingKey, "sha256", signed(site, parameters)));
    return { challenge: JSON.stringify({ parameters, signature: hex(tag) }), cost, visits };
  },

  verify(site, client, payload, action) {
    const { parameters, signature, counter, time } = parse(payload);
    if (!isSigned(site, parameters, signature)) return { rejected: "bad-signature", reportedTimeMs: time };
    const { cost, expiresAt, nonce, salt, keyPrefix } = parameters;
    const verdict = (rejected) => ({
      rejected,
      cost,
      reportedTimeMs: time,
      expiresAt: BigInt(expiresAt),
      action: parameters.action,
    });
    if (BigInt(expiresAt) < now().seconds) return verdict("expired");
    if (action !== undefined && parameters.action !== action) return verdict("wrong-action");
    const password = new Uint8Array([...bytes(nonce), 0, 0, 0, 0]);
    new DataView(password.buffer).setUint32(password.length - 4, counter);
    const derived = asked(() => derive(work(cost), password, bytes(salt)));
    if (!hex(derived).startsWith(keyPrefix)) {
      const failures = asked(() => recordFailure(signature, BigInt(expiresAt)));
      return verdict(failures > site.maxFailures ? "too-many-failures" : "wrong-solution");
    }
    const isFirst = asked(() => claim(signature, BigInt(expiresAt), site.maxVerifies, false));
    return verdict(isFirst ? undefined : "replayed");
  },

  invalidate(site, payload) {
    const { parameters, signature } = parse(payload);
    if (!isSigned(site, parameters, signature)) return false;
    return asked(() => claim(signature, BigInt(parameters.expiresAt), site.maxVerifies, true));
  },
};

export function selfTest() {
  const text = encoder.encode("self-test");
  let isAccepted;
  try {
    const { tag } = hmacSign("self-test", "sha256", text);
    isAccepted = hmacVerify("self-test", undefined, "sha256", text, tag);
    mint(work(1), 1);
  } catch (error) {
    throw String(error.payload?.val ?? error);
  }
  if (!isAccepted) throw "a signature just made is not accepted";
}
