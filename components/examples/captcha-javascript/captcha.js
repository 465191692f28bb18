/**
 * A captcha policy in JavaScript: challenges of protocol v2 whose cost grows with the visits of a client.
 *
 * A challenge is solved by a counter that, hashed with nonce and salt, gives a key that begins with `00`. Its parameters
 * are signed by the host, so that nothing is stored until it is spent.
 */
import { now } from 'wasi:clocks/wall-clock@0.2.12';
import { getRandomBytes } from 'wasi:random/random@0.2.12';
import { log } from 'wasi:logging/logging@0.1.0-draft';
import { hmacSign, hmacVerify } from 'bulkhead:host/keys@0.1.1';
import { derive } from 'bulkhead:captcha/pow@0.1.1';
import { claim, recordFailure, recordVisit, spent } from 'bulkhead:captcha/ledger@0.1.1';

/** The start of a right key, as hexadecimal digits: one candidate in 256 has it. */
const PREFIX = '00';
/** Bytes of a derived key, and of nonce and salt. */
const KEY_LENGTH = 32;
const RANDOM_LENGTH = 16;
/** From this visit on a client pays twice the cost of the site's ladder. */
const FREQUENT = 20n;
/** Seconds after which a client may retry while the ledger does not answer. */
const RETRY_SECONDS = 5;

/** Key derivations by ALTCHA's spelling and by the host's. */
const ALGORITHMS = new Map([
  ['SHA-256', 'sha256'],
  ['SHA-384', 'sha384'],
  ['SHA-512', 'sha512'],
  ['PBKDF2/SHA-256', 'pbkdf2-sha256'],
  ['PBKDF2/SHA-384', 'pbkdf2-sha384'],
  ['PBKDF2/SHA-512', 'pbkdf2-sha512'],
]);

const encoder = new TextEncoder();

export const challenges = {
  issue: (site, client, action) => answer(() => issue(site, client, action)),
  verify: (site, client, payload, action) => answer(() => verify(site, client, payload, action)),
  invalidate: (site, payload) => answer(() => invalidate(site, payload)),
};

/** Signs and verifies with a key that protects nothing. */
export function selfTest() {
  const text = encoder.encode('self-test');
  const { keyId, tag } = hmacSign('self-test', 'sha256', text);
  if (!hmacVerify('self-test', keyId, 'sha256', text, tag)) {
    throw 'a signature just made is not accepted';
  }
}

function issue(site, client, action) {
  const algorithm = site.compat ? 'SHA-256' : site.algorithm;
  if (!ALGORITHMS.has(algorithm)) {
    throw { tag: 'internal', val: `this component has no algorithm ${algorithm}` };
  }
  const visits = recordVisit(site.key, client.network, client.allowListed).client + 1n;
  const cost = client.allowListed ? 1 : price(site.difficulty, visits);
  const parameters = {
    algorithm,
    cost,
    keyLength: KEY_LENGTH,
    expiresAt: Number(now().seconds) + site.timeoutSeconds,
    nonce: hex(getRandomBytes(BigInt(RANDOM_LENGTH))),
    salt: hex(getRandomBytes(BigInt(RANDOM_LENGTH))),
    keyPrefix: PREFIX,
  };
  if (!site.compat) {
    parameters.data = action === undefined ? { site: site.key } : { action, site: site.key };
  }
  const { tag } = hmacSign(site.signingKey, 'sha256', encoder.encode(canonical(parameters)));
  return { challenge: JSON.stringify({ parameters, signature: hex(tag) }), cost, visits };
}

function verify(site, client, payload, action) {
  const { challenge, solution } = parse(payload);
  if (!Number.isInteger(solution?.counter) || typeof solution.derivedKey !== 'string') {
    throw { tag: 'malformed', val: 'solution must have a counter and a derivedKey' };
  }
  const refused = refusal(site, challenge);
  if (refused !== undefined) {
    return { rejected: refused };
  }
  const { parameters, signature } = challenge;
  return {
    rejected: judge(site, parameters, signature, solution, action),
    cost: parameters.cost,
    reportedTimeMs: solution.time >= 0 ? solution.time : undefined,
    expiresAt: BigInt(parameters.expiresAt),
    action: parameters.data?.action,
  };
}

function invalidate(site, payload) {
  const { challenge } = parse(payload);
  if (refusal(site, challenge) !== undefined || isOfAnotherSite(site, challenge.parameters)) {
    return false;
  }
  return claim(challenge.signature, BigInt(challenge.parameters.expiresAt), site.maxVerifies, true);
}

/** Returns the cost of the highest step of the site's ladder that the visits reach, twice that for frequent clients. */
function price(difficulty, visits) {
  const ladder = difficulty.tag === 'ladder' ? difficulty.val : difficulty.val[0];
  const reached = ladder.filter((step) => BigInt(step.minVisits) <= visits);
  const cost = Math.max(1, ...reached.map((step) => step.cost));
  return visits >= FREQUENT ? cost * 2 : cost;
}

/** Returns why a challenge is not one that this site can have issued, or is over. */
function refusal(site, { parameters, signature }) {
  if (!(parameters?.expiresAt >= Number(now().seconds))) {
    return Number.isInteger(parameters?.expiresAt) ? 'expired' : 'bad-signature';
  }
  const tag = bytes(signature);
  const text = encoder.encode(canonical(parameters));
  const isSigned = tag.length === KEY_LENGTH && hmacVerify(site.signingKey, undefined, 'sha256', text, tag);
  return isSigned ? undefined : 'bad-signature';
}

/** Judges the solution of a challenge that the host has signed, and spends the challenge once if it is right. */
function judge(site, parameters, signature, { counter, derivedKey }, action) {
  const until = BigInt(parameters.expiresAt);
  if (isOfAnotherSite(site, parameters)) {
    return 'wrong-site';
  }
  if (action !== undefined && parameters.data?.action !== action) {
    return 'wrong-action';
  }
  if (spent(signature) >= site.maxVerifies) {
    return 'replayed';
  }
  if (!derivedKey.startsWith(PREFIX) || hex(derive(...work(parameters, counter))) !== derivedKey) {
    if (recordFailure(signature, until) >= site.maxFailures) {
      claim(signature, until, site.maxVerifies, true);
    }
    return 'wrong-solution';
  }
  return claim(signature, until, site.maxVerifies, false) ? undefined : 'replayed';
}

function isOfAnotherSite(site, parameters) {
  return !site.compat && parameters.data?.site !== site.key;
}

/** Returns the arguments of the derivation that a counter stands for: parameters, password and salt. */
function work({ algorithm, cost, nonce, salt }, counter) {
  const password = new Uint8Array(RANDOM_LENGTH + 4);
  password.set(bytes(nonce));
  new DataView(password.buffer).setUint32(RANDOM_LENGTH, counter);
  const kind = ALGORITHMS.get(algorithm);
  return [{ algorithm: kind, cost, memoryCost: 0, parallelism: 1, keyLength: KEY_LENGTH }, password, bytes(salt)];
}

/** Reads the JSON text of a solved challenge. */
function parse(payload) {
  let read;
  try {
    read = JSON.parse(payload);
  } catch {
    throw { tag: 'malformed', val: 'payload is not JSON' };
  }
  if (typeof read?.challenge?.signature !== 'string') {
    throw { tag: 'malformed', val: 'payload has no challenge with a signature' };
  }
  return read;
}

/** Returns the text that a signature covers: JSON with sorted members, without those that are null. */
function canonical(parameters) {
  const sorted = Object.entries(parameters).filter(([, value]) => value !== null);
  sorted.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted));
}

function hex(octets) {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('');
}

/** Returns the bytes of lower-case hexadecimal digits, or none for other text. */
function bytes(text) {
  if (typeof text !== 'string' || text.length % 2 === 1 || !/^[0-9a-f]*$/.test(text)) {
    return new Uint8Array();
  }
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Runs an export. What the host refuses becomes an error of this world. */
function answer(work) {
  try {
    return work();
  } catch (error) {
    if (error?.payload === undefined) {
      throw error;
    }
    const { tag, val } = error.payload;
    log('warn', 'captcha', `the host refuses: ${tag}`);
    const busy = { busy: val, unavailable: RETRY_SECONDS }[tag];
    throw busy === undefined ? { tag: 'internal', val } : { tag: 'busy', val: busy };
  }
}
