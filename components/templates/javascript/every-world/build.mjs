// Builds the component.
import { writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const { component } = await componentize({
  sourcePath: "app.js",
  witPath: "wit",
  worldName: "{{world}}",
  // A component for a slot neither sends requests nor waits for timers.
  disableFeatures: ["http", "fetch-event"],
});
await writeFile("{{name}}.wasm", component);
console.log(`{{name}}.wasm: ${component.byteLength} bytes`);
