// Builds the schedulers of this folder and their loader.
//
//   node bpf/build.mjs                    objects/*.bpf.o with clang 19, and build/vtime-load where libbpf can be had
//   node bpf/build.mjs --check            builds into a temporary folder and compares with objects/, section by section
//   node bpf/build.mjs --clang 16 --out DIR    another compiler; its objects have to pass `vtime bpf check` instead
//   node bpf/build.mjs --loader           the loader only
//
// Exit status: 1 for a difference or an error, 77 if the compiler (or, with --loader, libbpf) cannot be had.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const COMMITTED = join(here, 'objects');
/** The compiler whose objects are committed. */
const CLANG = '19';
const SKIPPED = 77;
const NO_LIBBPF =
  'no libbpf 1.4 with a static library; VTIME_LIBBPF names a folder that has it, or npm run build first';

const FLAGS = ['-target', 'bpf', '-mcpu=v3', '-O2', '-g', '-fno-addrsig'];
const WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter', '-Wno-missing-declarations'];

const options = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    loader: { type: 'boolean', default: false },
    clang: { type: 'string', default: CLANG },
    out: { type: 'string' },
  },
}).values;

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(SKIPPED);
}

/** Path of a tool of LLVM; Debian installs it if it can. */
function llvmTool(name, version) {
  const tool = `${name}-${version}`;
  if (spawnSync(tool, ['--version']).status === 0) return tool;
  const packages = [`clang-${version}`, `llvm-${version}`];
  const installed = spawnSync(join(here, '../scripts/debian-packages.sh'), packages, { stdio: 'inherit' });
  if (installed.status !== 0 || spawnSync(tool, ['--version']).status !== 0)
    skip(`${tool} cannot be installed`);
  return tool;
}

/** Every scheduler twice: NAME.bpf.o, and NAME.record.bpf.o that records what it does. */
function buildObjects(version, folder) {
  const clang = llvmTool('clang', version);
  const strip = llvmTool('llvm-strip', version);
  mkdirSync(folder, { recursive: true });
  const sources = readdirSync(here).filter((name) => name.endsWith('.bpf.c'));
  for (const source of sources) {
    for (const recording of [false, true]) {
      const object = join(folder, source.replace('.bpf.c', recording ? '.record.bpf.o' : '.bpf.o'));
      // Line information names files, so it must not depend on where this folder is.
      const places = [`-ffile-prefix-map=${here}/=`, '-ffile-compilation-dir=.'];
      const macros = [`-DRECORD=${recording ? 1 : 0}`];
      execFileSync(clang, [...FLAGS, ...WARNINGS, ...places, ...macros, '-c', source, '-o', object], {
        cwd: here,
        stdio: 'inherit',
      });
      // DWARF goes; .BTF and .BTF.ext stay.
      execFileSync(strip, ['-g', object]);
    }
  }
  return sources.length * 2;
}

/**
 * Folder with libbpf 1.4 or later, libelf and zlib, headers and static libraries: VTIME_LIBBPF, else what
 * `vtime kernel record` fetches into its cache (Debian's backports; the distribution's own libbpf is too old), else the system's.
 */
async function libraries() {
  const packages = join(here, '../dist/src/bpf/vm/packages.js');
  let root = process.env.VTIME_LIBBPF;
  if (root === undefined && existsSync(packages)) {
    const { fetchLoaderLibraries } = await import(packages);
    root = await fetchLoaderLibraries().catch((error) => console.log(String(error.message)));
  }
  const prefix = join(root ?? '', '/usr');
  const lib = join(prefix, 'lib/x86_64-linux-gnu');
  return existsSync(join(lib, 'libbpf.a')) ? { include: join(prefix, 'include'), lib } : undefined;
}

/** The loader is linked statically, so that it runs in an initramfs; returns its path. */
async function buildLoader() {
  const found = await libraries();
  if (found === undefined) return undefined;
  const sources = readdirSync(join(here, 'loader')).filter((name) => name.endsWith('.c'));
  const loader = join(here, '../build/vtime-load');
  mkdirSync(dirname(loader), { recursive: true });
  const inputs = sources.map((name) => join(here, 'loader', name));
  const flags = ['-O2', '-Wall', '-Wextra', '-static', `-I${found.include}`, `-L${found.lib}`];
  execFileSync('cc', [...flags, '-o', loader, ...inputs, '-lbpf', '-lelf', '-lz'], {
    stdio: 'inherit',
  });
  return loader;
}

async function check(version) {
  if (!existsSync(join(here, '../dist/src/bpf/object/elf.js'))) {
    console.error('--check needs the compiled project: npm run build');
    return 1;
  }
  const { compareObjects } = await import('./compare.mjs');
  const scratch = mkdtempSync(join(tmpdir(), 'vtime-bpf-'));
  try {
    buildObjects(version, scratch);
    const named = execFileSync(llvmTool('clang', version), ['--version'], { encoding: 'utf8' }).split(
      '\n',
    )[0];
    const names = new Set([...readdirSync(scratch), ...readdirSync(COMMITTED)]);
    const differences = [...names]
      .sort()
      .flatMap((name) => compareObjects(join(COMMITTED, name), join(scratch, name)));
    for (const difference of differences) console.log(difference);
    const verdict = differences.length === 0 ? 'the same instructions, relocations and data' : 'DIFFERENT';
    console.log(`${names.size} objects, built with ${named}: ${verdict}`);
    return differences.length === 0 ? 0 : 1;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

if (options.check) {
  process.exitCode = await check(options.clang);
} else {
  if (!options.loader) {
    if (options.clang !== CLANG && options.out === undefined) {
      console.error(`bpf/objects holds what clang ${CLANG} makes; give --out for clang ${options.clang}`);
      process.exit(1);
    }
    const folder = options.out ?? COMMITTED;
    console.log(`${buildObjects(options.clang, folder)} objects in ${folder}`);
  }
  const loader = await buildLoader();
  if (loader !== undefined) console.log(`loader: ${loader}`);
  else if (options.loader) skip(NO_LIBBPF);
  else console.log(`no loader: ${NO_LIBBPF}`);
}
