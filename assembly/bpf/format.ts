// bstr_printf() of BPF programs: %d %i %u %x %X %c %s %p %%, with l, ll, h, z, a width, 0 and -. Arguments are u64 each. What a
// format asks for and does not get reads as 0.

import { isReadable, readable } from './region';

const PERCENT: u8 = 0x25;
const MINUS: u8 = 0x2d;
const ZERO: u8 = 0x30;

let out: usize = 0;
let end: usize = 0;
/** Characters that the text has, also those that did not fit. */
let length: u32 = 0;

function put(c: u8): void {
  if (out < end) store<u8>(out++, c);
  length++;
}

function padding(count: i32, c: u8): void {
  for (; count > 0; count--) put(c);
}

function digitsOf(value: u64, base: u64): i32 {
  let n: i32 = 1;
  while (value >= base) {
    value /= base;
    n++;
  }
  return n;
}

function putNumber(value: u64, base: u64, negative: bool, upper: bool, width: i32, zeros: bool, left: bool): void {
  const digits = digitsOf(value, base);
  const pad = width - digits - (negative ? 1 : 0);
  if (!left && !zeros) padding(pad, 0x20);
  if (negative) put(MINUS);
  if (!left && zeros) padding(pad, ZERO);
  let unit: u64 = 1;
  for (let i: i32 = 1; i < digits; i++) unit *= base;
  for (let i: i32 = 0; i < digits; i++) {
    const digit = ((value / unit) % base) as u8;
    put(digit < 10 ? ZERO + digit : (upper ? 0x41 : 0x61) + digit - 10);
    unit /= base;
  }
  if (left) padding(pad, 0x20);
}

/** A text that cannot be read is empty. */
function putText(pointer: u64, width: i32, left: bool): void {
  let n: u32 = 0;
  while (n < 256 && isReadable(pointer + (n as u64), 1) && load<u8>((pointer as usize) + n) != 0) n++;
  if (!left) padding(width - (n as i32), 0x20);
  for (let i: u32 = 0; i < n; i++) put(load<u8>((pointer as usize) + i));
  if (left) padding(width - (n as i32), 0x20);
}

/**
 * Writes at most `size` bytes, the closing NUL included, to `to`; returns the length that the text has. `data` holds
 * `dataBytes` / 8 arguments; both are checked, `to` is the caller's.
 */
export function formatInto(to: usize, size: u32, format: u64, data: u64, dataBytes: u64): u32 {
  out = to;
  end = to + (size == 0 ? 0 : size - 1);
  length = 0;
  const args: usize = dataBytes == 0 ? (0 as usize) : readable(data, dataBytes);
  const count = (dataBytes >> 3) as u32;
  let used: u32 = 0;
  let at = format;
  while (at - format < 1024) {
    let c = load<u8>(readable(at++, 1));
    if (c == 0) break;
    if (c != PERCENT) {
      put(c);
      continue;
    }
    let left = false;
    let zeros = false;
    let width: i32 = 0;
    let longs: u32 = 0;
    let shorts: u32 = 0;
    c = load<u8>(readable(at++, 1));
    while (c == MINUS || c == ZERO || c == 0x23 || c == 0x2b || c == 0x20) {
      if (c == MINUS) left = true;
      if (c == ZERO) zeros = true;
      c = load<u8>(readable(at++, 1));
    }
    while (c >= ZERO && c <= 0x39) {
      width = min(width * 10 + ((c - ZERO) as i32), 256);
      c = load<u8>(readable(at++, 1));
    }
    while (c == 0x6c || c == 0x68 || c == 0x7a) {
      if (c == 0x68) shorts++;
      else longs++;
      c = load<u8>(readable(at++, 1));
    }
    if (c == 0) break;
    if (c == PERCENT) {
      put(PERCENT);
      continue;
    }
    const argument = used < count ? load<u64>(args + (used << 3)) : 0;
    used++;
    if (c == 0x64 || c == 0x69) {
      const value = longs != 0 ? (argument as i64) : shorts == 0 ? (argument as i32 as i64) : (argument as i16 as i64);
      putNumber(value < 0 ? -(value as u64) : (value as u64), 10, value < 0, false, width, zeros, left);
    } else if (c == 0x75 || c == 0x78 || c == 0x58) {
      const value = longs != 0 ? argument : shorts == 0 ? (argument as u32 as u64) : (argument as u16 as u64);
      putNumber(value, c == 0x75 ? 10 : 16, false, c == 0x58, width, zeros, left);
    } else if (c == 0x73) {
      putText(argument, width, left);
    } else if (c == 0x63) {
      put(argument as u8);
    } else {
      if (c == 0x70) at += skipPointerKind(at);
      putNumber(argument, 16, false, false, width, zeros, left);
    }
  }
  if (size != 0) store<u8>(out, 0);
  return length;
}

/** Letters behind %p say what it points to (%pK, %px, %ps). */
function skipPointerKind(at: u64): u64 {
  const c = load<u8>(readable(at, 1));
  return c == 0x4b || c == 0x78 || c == 0x73 || c == 0x53 || c == 0x42 || c == 0x6b || c == 0x75 ? 1 : 0;
}
