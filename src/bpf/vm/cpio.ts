// The archive that Linux unpacks as its first file system: cpio "newc" (Documentation/driver-api/early-userspace/
// buffer-format.rst). Times and owners are 0 and inodes count up, so that equal contents give equal bytes.

const HEADER_BYTES = 110;
const S_IFDIR = 0o040000;
const S_IFREG = 0o100000;
const S_IFLNK = 0o120000;
const S_IFCHR = 0o020000;

export type CpioEntry = { path: string } & (
  | { directory: true }
  | { contents: Uint8Array; executable?: boolean }
  | { link: string }
  | { device: readonly [major: number, minor: number] }
);

const padding = (length: number) => (4 - (length % 4)) % 4;

function record(
  path: string,
  inode: number,
  mode: number,
  contents: Uint8Array,
  [major, minor]: readonly [number, number] = [0, 0],
): Uint8Array {
  const name = Buffer.from(`${path}\0`);
  const links = (mode & 0o170000) === S_IFDIR ? 2 : 1;
  // inode, mode, uid, gid, links, mtime, size, device of the file, device it stands for, name length, check (unused)
  const fields = [inode, mode, 0, 0, links, 0, contents.length, 0, 0, major, minor, name.length, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  const nameEnd = HEADER_BYTES + name.length + padding(HEADER_BYTES + name.length);
  const bytes = new Uint8Array(nameEnd + contents.length + padding(contents.length));
  bytes.set(Buffer.from(header), 0);
  bytes.set(name, HEADER_BYTES);
  bytes.set(contents, nameEnd);
  return bytes;
}

const NOTHING = new Uint8Array();

/** The archive of these entries, in their order; a directory comes before what it holds. */
export function cpio(entries: readonly CpioEntry[]): Uint8Array {
  const records = entries.map((entry, i) => {
    if ('directory' in entry) return record(entry.path, i + 1, S_IFDIR | 0o755, NOTHING);
    if ('link' in entry) return record(entry.path, i + 1, S_IFLNK | 0o777, Buffer.from(entry.link));
    if ('device' in entry) return record(entry.path, i + 1, S_IFCHR | 0o600, NOTHING, entry.device);
    return record(entry.path, i + 1, S_IFREG | (entry.executable ? 0o755 : 0o644), entry.contents);
  });
  return Buffer.concat([...records, record('TRAILER!!!', 0, 0, NOTHING)]);
}
