// What a check of a services model finds: errors that keep it from running, warnings about what is probably not meant, notes.

import { ConfigError, type Locate, type Path } from '../config/mistakes.js';
import { nearestName } from '../errors.js';

export type Severity = 'error' | 'warning' | 'note';

export interface Finding {
  severity: Severity;
  /** For scripts and tests, e.g. "unknown-service". */
  code: string;
  message: string;
  /** In the document that the finding is about. */
  path: Path;
  file?: string;
  /** 1-based. */
  line?: number;
  /** 1-based. */
  column?: number;
}

export class Findings {
  readonly list: Finding[] = [];

  add(severity: Severity, path: Path, code: string, message: string): void {
    this.list.push({ severity, path, code, message });
  }

  error(path: Path, code: string, message: string): void {
    this.add('error', path, code, message);
  }

  warning(path: Path, code: string, message: string): void {
    this.add('warning', path, code, message);
  }

  note(path: Path, code: string, message: string): void {
    this.add('note', path, code, message);
  }

  /** Says that there is no such name, and returns whether there is. */
  known(path: Path, kind: string, name: string, names: readonly string[]): boolean {
    if (names.includes(name)) return true;
    const near = nearestName(name, names);
    const hint = near === undefined ? `known are ${names.join(', ') || 'none'}` : `did you mean "${near}"?`;
    this.error(path, `unknown-${kind.replaceAll(' ', '-')}`, `unknown ${kind} "${name}"; ${hint}`);
    return false;
  }

  get errors(): Finding[] {
    return this.list.filter(({ severity }) => severity === 'error');
  }

  /** Throws the errors, if there are any, as one ConfigError. */
  throwErrors(locate: Locate = () => ({})): void {
    if (this.errors.length === 0) return;
    throw new ConfigError(
      this.errors.map(({ path, message, file, line, column }) => ({
        path,
        message,
        ...(file === undefined ? locate(path, false) : { file, line, column }),
      })),
    );
  }
}
