// A malformed input: files, and the command that is given them.

export interface Malformed {
  /** Schema section or reader. */
  group: string;
  name: string;
  /** By name; put into a fresh folder, in which the command runs. `/` makes folders. */
  files: Record<string, string | Buffer>;
  /** Command line behind `vtime`; `@name` is the path of a file, `@` the folder, `@out` a path that must not exist afterwards. */
  args: string[];
}
