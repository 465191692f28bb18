// The peer: a Node server with altcha-lib that answers the captcha service's two paths with the same
// envelopes. It keeps spent challenges in memory and, unlike the service, counts no visits.
//
// Its argument is JSON: {"workers": 1, "secret": "...", "sites": {"KEY": {"secret", "algorithm", "cost",
// "counterMax", "maxVerifies"}}, "tls": {"cert", "key"}}, the last two names of PEM files, or null. Its first line
// is its address.

import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createChallenge, randomInt, verifySolution } from 'altcha-lib';
import { deriveKey as pbkdf2 } from 'altcha-lib/algorithms/pbkdf2';
import { deriveKey as sha } from 'altcha-lib/algorithms/sha';

const { workers, secret, sites, tls } = JSON.parse(process.argv[2]);
const secrets = { hmacSignatureSecret: secret, hmacKeySignatureSecret: `${secret}, for keys` };
const deriveKeyOf = (algorithm) => (algorithm.startsWith('PBKDF2/') ? pbkdf2 : sha);
const LIFE_SECONDS = 300;

const spent = new Map();
setInterval(() => {
  const now = Date.now() / 1000;
  for (const [signature, { expiresAt }] of spent) {
    if (expiresAt < now) spent.delete(signature);
  }
}, 60_000).unref();

function spend({ signature, parameters }, limit) {
  const entry = spent.get(signature) ?? { times: 0, expiresAt: parameters.expiresAt };
  if (entry.times >= limit) return false;
  entry.times += 1;
  spent.set(signature, entry);
  return true;
}

async function challenge({ algorithm, cost, counterMax }) {
  const deterministic = counterMax ? { counter: randomInt(counterMax), ...secrets } : {};
  const expiresAt = Math.floor(Date.now() / 1000) + LIFE_SECONDS;
  const deriveKey = deriveKeyOf(algorithm);
  const { hmacSignatureSecret } = secrets;
  const options = { algorithm, cost, expiresAt, deriveKey, hmacSignatureSecret, ...deterministic };
  return { challenge: await createChallenge(options) };
}

async function verify({ maxVerifies }, { payload }) {
  const { challenge, solution } = payload;
  const deriveKey = deriveKeyOf(challenge.parameters.algorithm);
  const { verified } = await verifySolution({ challenge, solution, deriveKey, ...secrets });
  return { valid: verified && spend(challenge, maxVerifies) };
}

async function answer(path, body) {
  const site = sites[body.siteKey];
  if (site === undefined || site.secret !== body.siteSecret) return [401, { error: 'Unauthorized' }];
  if (path === '/api/v1/captcha/challenge') return [200, await challenge(site)];
  if (path === '/api/v1/captcha/verify') return [200, await verify(site, body)];
  return [404, { error: 'Not Found' }];
}

function serve(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    let status, body;
    try {
      [status, body] = await answer(request.url, JSON.parse(Buffer.concat(chunks)));
    } catch (error) {
      [status, body] = [400, { error: String(error) }];
    }
    const text = JSON.stringify(body);
    const length = Buffer.byteLength(text);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
    response.end(text);
  });
}

if (cluster.isPrimary && workers > 1) {
  let listening = 0;
  cluster.on('listening', (_, { port }) => {
    listening += 1;
    if (listening === workers) console.log(`127.0.0.1:${port}`);
  });
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
} else {
  const server = tls
    ? https.createServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, serve)
    : http.createServer(serve);
  server.listen(0, '127.0.0.1', () => {
    if (cluster.isPrimary) console.log(`127.0.0.1:${server.address().port}`);
  });
}
