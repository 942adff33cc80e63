// bpf_get_prandom_u32(): draws of the policy's stream, in the order of the calls.

import { draw64 } from '../core/random';

let key: u64 = 0;
let drawn: u64 = 0;

export function drawsFrom(stream: u64): void {
  key = stream;
  drawn = 0;
}

export function drawU32(): u32 {
  return (draw64(key, drawn++) >> 32) as u32;
}
