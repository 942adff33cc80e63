// Ring buffers. Nobody reads them in a simulation: what is submitted is taken as read at once, so a buffer is never full and a
// record larger than it is refused.

import { MAP_HEAD, MAP_MAX_ENTRIES, MAP_VALUES } from '../abi';

const HEADER_BYTES: u64 = 8;

/** Address of a record of `bytes`, 0 if the buffer is smaller. */
export function ringReserve(map: usize, bytes: u64): u64 {
  const capacity = load<u32>(map, MAP_MAX_ENTRIES);
  if (bytes + HEADER_BYTES > (capacity as u64)) return 0;
  const need = (((bytes as u32) + 7) & ~7) + (HEADER_BYTES as u32);
  let at = load<u32>(map, MAP_HEAD);
  if (at + need > capacity) at = 0;
  store<u32>(map, at + need, MAP_HEAD);
  return (load<u32>(map, MAP_VALUES) + at + (HEADER_BYTES as u32)) as u64;
}
