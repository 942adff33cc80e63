// Brings the working tree up to date: packages, engine, compiled TypeScript. Says on stderr what it does and skips what
// is up to date. In an installed package there is nothing to build.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(ROOT, ...parts);
const WASM = at('build', 'vtime.wasm');
/** Touched after each successful compilation: tsc leaves outputs alone that would not change. */
const COMPILED = at('build', 'typescript.stamp');

const say = (text) => process.stderr.write(`setup: ${text}\n`);

/** Newest modification below a path, ms; 0 if there is none. */
function newest(path, matches = () => true) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return matches(path) ? stat.mtimeMs : 0;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name), matches)));
}

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : -1);

function run(what, command, args, options = {}) {
  say(what);
  const started = performance.now();
  // Results belong on stdout: what tools print goes to stderr.
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2], ...options });
  if (status !== 0) {
    say(`${what}: failed${error ? ` (${error.message})` : ''}`);
    process.exit(status ?? 1);
  }
  say(`${what}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

function installPackages() {
  // npm says which npm runs this script; on Windows, `npm` is a shell script.
  const { npm_execpath } = process.env;
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  if (npm_execpath?.endsWith('.js')) run('npm ci', process.execPath, [npm_execpath, ...args]);
  else run('npm ci', 'npm', args, { shell: process.platform === 'win32' });
}

function compileTypeScript() {
  // tsc trusts its notes on what it wrote before; without the outputs they are wrong.
  if (!existsSync(at('dist', 'src', 'cli', 'index.js'))) rmSync(at('build', 'tsbuildinfo'), { force: true });
  run('compiling TypeScript', process.execPath, [
    at('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.json',
  ]);
  writeFileSync(COMPILED, '');
  utimesSync(COMPILED, new Date(), new Date());
}

/** Does what is needed; ends the process if that fails. */
export function setup() {
  if (!existsSync(at('assembly')) || !existsSync(at('package-lock.json'))) return;
  if (modified(at('node_modules', '.package-lock.json')) < modified(at('package-lock.json')))
    installPackages();
  const sources = Math.max(newest(at('assembly')), modified(at('asconfig.json')));
  if (modified(WASM) <= sources) {
    const asc = at('node_modules', 'assemblyscript', 'bin', 'asc.js');
    run('compiling the engine', process.execPath, [asc, 'assembly/index.ts', '--target', 'release']);
  }
  const isTypeScript = (path) => path.endsWith('.ts');
  const typed = ['src', 'test', 'bench'].map((folder) => newest(at(folder), isTypeScript));
  const inputs = Math.max(...typed, newest(at('assembly', 'abi')), modified(at('tsconfig.json')));
  if (modified(COMPILED) <= inputs || !existsSync(at('dist', 'src', 'cli', 'index.js'))) compileTypeScript();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup();
