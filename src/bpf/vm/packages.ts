// The kernel, the emulator and the tools of the virtual machine: Debian packages from the machine's own mirror, unpacked
// into a cache folder. Nothing is installed. QEMU comes with all its libraries, down to the loader, so that every machine
// runs the same build.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AbortedError, VtimeError } from '../../errors.js';

const run = promisify(execFile);

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** QEMU 10: version 7.2 schedules its CPUs unevenly and does not repeat a run exactly. */
const QEMU_SUITE = 'trixie';
/** Most kernels whose config is looked at for SCHED_CLASS_EXT. */
const KERNELS_TRIED = 4;

/** Which kernel: the newest with sched_ext, the one nearest to 6.11's EEVDF, the last long-term one with CFS. */
export type KernelKind = 'ext' | 'eevdf' | 'cfs';

const KERNELS: Record<KernelKind, { suite: string; packages: RegExp; option?: string }> = {
  ext: {
    suite: 'trixie-backports',
    packages: /^linux-binary-(\d+\.\d+\.\d+\+deb\d+-cloud-amd64)$/,
    option: 'CONFIG_SCHED_CLASS_EXT=y',
  },
  eevdf: { suite: 'trixie', packages: /^linux-image-(6\.12\.\d+\+deb\d+-cloud-amd64)$/ },
  cfs: { suite: 'bookworm', packages: /^linux-image-(6\.1\.\d+-\d+-cloud-amd64)$/ },
};

export interface Kernel {
  /** `uname -r` */
  release: string;
  image: string;
  config: string;
  /** Modules that have to be inserted for the port, in this order; none if the kernel has them built in. */
  modules: string[];
}

export interface Emulator {
  command: string;
  /** What comes before QEMU's own arguments. */
  prefix: string[];
  /** Of the Debian package. */
  version: string;
}

/** Packages can't be had: what CI counts as skipped. */
export class PackagesError extends VtimeError {
  constructor(message: string, expected?: string) {
    super('vm_packages', message, expected === undefined ? {} : { expected });
  }
}

/** Where packages are unpacked: `VTIME_VM_CACHE`, else below the user's cache folder. */
export function cacheFolder(): string {
  const given = process.env.VTIME_VM_CACHE;
  if (given !== undefined && given !== '') return given;
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vtime', 'vm');
}

/** The mirror in the text of an apt source file, in either of apt's formats. */
export function mirrorOf(text: string): string | undefined {
  for (const stanza of text.split(/\n\s*\n/)) {
    const field = (name: string) => new RegExp(`^${name}:\\s*(.+)$`, 'mi').exec(stanza)?.[1].trim();
    const uri = field('URIs')?.split(/\s+/)[0];
    if (uri === undefined || /-security/.test(field('Suites') ?? '')) continue;
    if (field('Signed-By') === KEYRING || /\/debian\/?$/.test(uri)) return uri;
  }
  const line = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+\/debian\/?)\s+(?!\S*-security)\S+\s.*\bmain\b/m.exec(text);
  return line?.[1];
}

function machineMirror(): string {
  const folder = '/etc/apt/sources.list.d';
  const listed = existsSync(folder) ? readdirSync(folder).sort() : [];
  for (const file of ['/etc/apt/sources.list', ...listed.map((name) => join(folder, name))]) {
    const mirror = existsSync(file) ? mirrorOf(readFileSync(file, 'utf8')) : undefined;
    if (mirror !== undefined) return mirror;
  }
  throw new PackagesError('no Debian mirror among the apt sources of this machine', 'a Debian machine');
}

/** Apt's view of one suite, apart from the machine's own. */
class Suite {
  readonly #folder: string;
  readonly #options: string[];
  readonly #signal: AbortSignal | undefined;

  constructor(name: string, cache: string, signal?: AbortSignal) {
    this.#folder = join(cache, 'apt', name);
    this.#signal = signal;
    for (const inner of ['lists/partial', 'cache/archives/partial']) {
      mkdirSync(join(this.#folder, inner), { recursive: true });
    }
    writeFileSync(
      join(this.#folder, 'sources.list'),
      `deb [signed-by=${KEYRING}] ${machineMirror()} ${name} main\n`,
    );
    // Nothing counts as installed, so that a package's libraries are all part of its closure.
    writeFileSync(join(this.#folder, 'status'), '');
    const settings = {
      'Dir::Etc::SourceList': join(this.#folder, 'sources.list'),
      'Dir::Etc::SourceParts': '/dev/null',
      'Dir::State::Lists': join(this.#folder, 'lists'),
      'Dir::State::Status': join(this.#folder, 'status'),
      'Dir::Cache': join(this.#folder, 'cache'),
      'APT::Sandbox::User': 'root',
      'APT::Install-Recommends': 'false',
    };
    this.#options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  }

  async #apt(tool: string, args: string[], cwd = this.#folder): Promise<string> {
    try {
      const { stdout } = await run(tool, [...this.#options, ...args], {
        cwd,
        maxBuffer: 1 << 26,
        signal: this.#signal,
        env: { ...process.env, LC_ALL: 'C' },
      });
      return stdout;
    } catch (error) {
      if (this.#signal?.aborted) throw new AbortedError('aborted', 'interrupted while fetching packages');
      const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-2).join(' ');
      throw new PackagesError(`${tool} ${args[0]}: ${said || String(error)}`);
    }
  }

  /** Fetches the list of packages. */
  async update(): Promise<void> {
    // apt-get update succeeds with a warning when a mirror can't be reached, unless told not to.
    await this.#apt('apt-get', ['update', '-q', '-o', 'APT::Update::Error-Mode=any']);
  }

  async names(): Promise<string[]> {
    return (await this.#apt('apt-cache', ['pkgnames'])).split('\n');
  }

  /** The package and all that it depends on. */
  async closure(name: string): Promise<string[]> {
    const plan = await this.#apt('apt-get', ['install', '--simulate', name]);
    return [...plan.matchAll(/^Inst (\S+)/gm)].map(([, inst]) => inst);
  }

  /** Downloads packages and unpacks them into a folder; returns the names of the package files. */
  async unpack(packages: readonly string[], into: string): Promise<string[]> {
    const downloads = `${into}.packages`;
    rmSync(downloads, { recursive: true, force: true });
    mkdirSync(downloads, { recursive: true });
    await this.#apt('apt-get', ['download', '-q', ...packages], downloads);
    const files = readdirSync(downloads).filter((file) => file.endsWith('.deb'));
    for (const file of files) await run('dpkg', ['-x', join(downloads, file), into]);
    rmSync(downloads, { recursive: true, force: true });
    return files;
  }
}

/** Fills a folder once: half-filled ones are never seen. */
async function once(folder: string, fill: (part: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  const part = `${folder}.part-${process.pid}`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  try {
    await fill(part);
    if (!existsSync(folder)) renameSync(part, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

export interface FetchOptions {
  cache?: string;
  signal?: AbortSignal;
  /** Called before each download. */
  say?: (what: string) => void;
}

/** QEMU for x86 and a static busybox, fetched unless the cache has them. */
export async function fetchEmulator({ cache = cacheFolder(), signal, say }: FetchOptions = {}): Promise<{
  emulator: Emulator;
  busybox: string;
}> {
  const root = join(cache, 'qemu');
  await once(root, async (part) => {
    say?.('fetching QEMU and its libraries');
    const suite = new Suite(QEMU_SUITE, cache, signal);
    await suite.update();
    const files = await suite.unpack([...(await suite.closure('qemu-system-x86')), 'busybox-static'], part);
    const package_ = files.find((file) => file.startsWith('qemu-system-x86_')) ?? '';
    const version = decodeURIComponent(package_.split('_')[1] ?? '');
    writeFileSync(join(part, 'version'), version);
  });
  const libraries = join(root, 'usr', 'lib', 'x86_64-linux-gnu');
  const data = (name: string) => ['-L', join(root, 'usr', 'share', name)];
  const emulator = {
    command: join(libraries, 'ld-linux-x86-64.so.2'),
    prefix: [
      ...['--library-path', libraries, join(root, 'usr', 'bin', 'qemu-system-x86_64')],
      ...data('qemu'),
      ...data('seabios'),
    ],
    version: readFileSync(join(root, 'version'), 'utf8'),
  };
  return { emulator, busybox: join(root, 'usr', 'bin', 'busybox') };
}

/** Static libraries that the loader is linked against, by suite. Old ones link with every newer C library. */
const LOADER_LIBRARIES: readonly (readonly [suite: string, packages: readonly string[]])[] = [
  ['bookworm-backports', ['libbpf-dev']],
  ['bookworm', ['libelf-dev', 'zlib1g-dev']],
];

/** The folder (with usr/) of libbpf, libelf and zlib as static libraries with their headers. */
export async function fetchLoaderLibraries({
  cache = cacheFolder(),
  signal,
  say,
}: FetchOptions = {}): Promise<string> {
  const root = join(cache, 'libbpf');
  await once(root, async (part) => {
    say?.('fetching libbpf');
    for (const [name, packages] of LOADER_LIBRARIES) {
      const suite = new Suite(name, cache, signal);
      await suite.update();
      await suite.unpack(packages, part);
    }
  });
  return root;
}

/** Numbers compared as numbers: 7.10.1 is newer than 7.9.2. */
function newestFirst(a: string, b: string): number {
  return b.localeCompare(a, 'en', { numeric: true });
}

/** What a virtio port needs where it is not built in, what others depend on first. */
const PORT_MODULES = [
  'virtio/virtio',
  'virtio/virtio_ring',
  'virtio/virtio_pci_legacy_dev',
  'virtio/virtio_pci_modern_dev',
  'virtio/virtio_pci',
  'char/virtio_console',
];

function kernelIn(folder: string, release: string): Kernel {
  const installed = join(folder, 'usr', 'lib', 'modules', release);
  const boot = join(folder, 'boot');
  const image = [join(installed, 'vmlinuz'), join(boot, `vmlinuz-${release}`)].find(existsSync);
  const config = [join(installed, 'config'), join(boot, `config-${release}`)].find(existsSync);
  if (image === undefined || config === undefined) {
    throw new PackagesError(`the packages of kernel ${release} hold no kernel image or config`);
  }
  const drivers = join(folder, 'lib', 'modules', release, 'kernel', 'drivers');
  const builtIn = readFileSync(config, 'utf8').includes('\nCONFIG_VIRTIO_CONSOLE=y\n');
  const modules = builtIn ? [] : PORT_MODULES.map((name) => join(drivers, `${name}.ko`)).filter(existsSync);
  return { release, image, config, modules };
}

/** A kernel of this kind. The first call decides on its version, which the cache keeps. */
export async function fetchKernel(
  kind: KernelKind,
  { cache = cacheFolder(), signal, say }: FetchOptions = {},
): Promise<Kernel> {
  const chosen = join(cache, `kernel-${kind}`);
  const folderOf = (release: string) => join(cache, 'kernels', release);
  if (existsSync(chosen)) {
    const release = readFileSync(chosen, 'utf8');
    if (existsSync(folderOf(release))) return kernelIn(folderOf(release), release);
  }
  const { suite: name, packages, option } = KERNELS[kind];
  say?.(`fetching the kernel for ${kind}`);
  const suite = new Suite(name, cache, signal);
  await suite.update();
  const names = new Set(await suite.names());
  const releases = [...names].flatMap((found) => packages.exec(found)?.[1] ?? []).sort(newestFirst);
  for (const release of releases.slice(0, KERNELS_TRIED)) {
    const wanted = [`linux-binary-${release}`, `linux-base-${release}`].filter((name) => names.has(name));
    const folder = folderOf(release);
    await once(folder, async (part) => {
      await suite.unpack(wanted.length > 0 ? wanted : [`linux-image-${release}`], part);
    });
    const kernel = kernelIn(folder, release);
    if (option !== undefined && !readFileSync(kernel.config, 'utf8').split('\n').includes(option)) continue;
    writeFileSync(chosen, release);
    return kernel;
  }
  throw new PackagesError(
    `none of the newest cloud kernels of ${name} has what ${kind} needs (${releases.slice(0, KERNELS_TRIED).join(', ') || 'there is none'})`,
    option,
  );
}
