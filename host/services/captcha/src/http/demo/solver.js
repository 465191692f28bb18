// Solves ALTCHA challenges with Web Crypto.

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Gives the function that derives the key of a counter's password. */
function derivation({ algorithm, salt, cost, keyLength = 32 }) {
  const [family, hash] = algorithm.startsWith("SHA-") ? ["SHA", algorithm] : algorithm.split("/");
  if (family === "SHA") {
    return async (password) => {
      let digest = await crypto.subtle.digest(hash, new Uint8Array([...bytes(salt), ...password]));
      for (let round = 1; round < cost; round += 1) digest = await crypto.subtle.digest(hash, digest);
      return digest.slice(0, keyLength);
    };
  }
  if (family === "PBKDF2") {
    const parameters = { name: "PBKDF2", hash, salt: bytes(salt), iterations: cost };
    return async (password) => {
      const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
      return crypto.subtle.deriveBits(parameters, key, keyLength * 8);
    };
  }
  throw new Error(`this solver does not know ${algorithm}; /demo/captcha?widget=URL of the ALTCHA widget does`);
}

/** Tries counter after counter until the derived key has the challenge's prefix. */
export async function solve({ parameters }) {
  if (!crypto.subtle) throw new Error("browsers have Web Crypto on https and on localhost only");
  const started = performance.now();
  const derive = derivation(parameters);
  const nonce = bytes(parameters.nonce);
  const password = new Uint8Array(nonce.length + 4);
  password.set(nonce);
  const prefix = parameters.keyPrefix ?? "00";
  for (let counter = 0; ; counter += 1) {
    new DataView(password.buffer).setUint32(nonce.length, counter);
    const derivedKey = hex(await derive(password));
    if (derivedKey.startsWith(prefix)) {
      return { counter, derivedKey, time: Math.round((performance.now() - started) * 10) / 10 };
    }
  }
}
