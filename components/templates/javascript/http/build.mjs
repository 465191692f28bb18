// Builds the component.
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

// The version of WASI in the engine of componentize-js 0.23.0: listeners of `fetch` have this one alone. Hosts of any
// later 0.2 serve it.
const ENGINE = "0.2.10";

const wit = await mkdtemp(join(tmpdir(), "wit-"));
try {
  await cp("wit", wit, { recursive: true });
  for (const entry of await readdir(wit, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/(@|version = )0\.2\.1[12]/g, `$1${ENGINE}`));
  }
  const worldName = "{{world}}";
  const { component } = await componentize({ sourcePath: "app.js", witPath: wit, worldName });
  await writeFile("{{name}}.wasm", component);
  console.log(`{{name}}.wasm: ${component.byteLength} bytes`);
} finally {
  await rm(wit, { recursive: true });
}
