// Values of options: how they are read, and mistakes that name the option.

import { Option } from 'commander';
import { parse } from 'yaml';
import { durationNs } from '../config/units.js';
import { VtimeError } from '../errors.js';

/** A whole number from `low` to `high`. */
export function whole(option: string, low: number, high = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= low && value <= high) return value;
    const range = high === Number.MAX_SAFE_INTEGER ? `of at least ${low}` : `from ${low} to ${high}`;
    throw new VtimeError('usage', `${option} is "${text}"`, {
      value: text,
      expected: `a whole number ${range}`,
    });
  };
}

/** A time with its unit, ns. */
export function time(option: string, example: string) {
  return (text: string): number => {
    try {
      return Number(durationNs(text));
    } catch {
      throw new VtimeError('usage', `${option} is "${text}"`, {
        value: text,
        expected: `a time like ${example}`,
      });
    }
  };
}

/** The values of an option that may be repeated. */
export function repeated(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** `name=value`, its parts as they are written. */
export function namedValue(option: string, text: string, example: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new VtimeError('usage', `${option} ${text}`, { value: text, expected: example });
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Collects the values of an option that may be repeated: `name=value`, the value in YAML. */
export function collecting(option: string, example: string) {
  return (text: string, sofar: Record<string, unknown> = {}): Record<string, unknown> => {
    const [path, value] = namedValue(option, text, example);
    try {
      return { ...sofar, [path]: parse(value) };
    } catch (error) {
      const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
      throw new VtimeError('usage', `${option} ${path}: ${reason}`, { path, expected: 'a YAML value' });
    }
  };
}

/** Of `--set`: config fields by path. */
export const assignment = collecting('--set', 'path=value, like run.horizon=60s');

/** Variables of a BPF object as they are written, `--rodata name=value`, repeated. */
export function rodataOption(text: string, sofar: Record<string, string> = {}): Record<string, string> {
  const [name, value] = namedValue('--rodata', text, 'name=value, like slice_ns=3ms');
  return { ...sofar, [name]: value };
}

/** The `--workers` of commands that use several threads. */
export function workersOption(): Option {
  return new Option('--workers <n>', 'threads (default: one per CPU)').argParser(whole('--workers', 1));
}

/** A value that an option is read into; a mistake names the option. */
export function ofOption<Value>(option: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof VtimeError) throw new VtimeError('usage', `${option}: ${error.what}`, error.place);
    throw error;
  }
}
