/** Builds `captcha.js` to a component: `node build.mjs [WIT [OUTPUT]]`. */
import { writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const [wit = '../../../wit/captcha', output = 'captcha.wasm'] = process.argv.slice(2);
const { component } = await componentize({ sourcePath: 'captcha.js', witPath: wit, worldName: 'captcha' });
await writeFile(output, component);
