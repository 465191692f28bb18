/** Builds `hello.js` to a component: `node build.mjs [WIT [OUTPUT]]`. */
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { componentize } from '@bytecodealliance/componentize-js';

/** The version of WASI that the engine of componentize-js 0.23.0 has: a listener of `fetch` exports this one alone. */
const ENGINE = '0.2.10';

const [wit = '../wit', output = 'hello.wasm'] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'hello-'));
try {
  await cp(wit, folder, { recursive: true, dereference: true });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      const file = join(entry.parentPath, entry.name);
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('0.2.12', ENGINE));
    }
  }
  const { component } = await componentize({ sourcePath: 'hello.js', witPath: folder, worldName: 'hello' });
  await writeFile(output, component);
} finally {
  await rm(folder, { recursive: true });
}
