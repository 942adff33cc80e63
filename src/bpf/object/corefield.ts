// What CO-RE relocations can ask about a field, and the answers once its place is known.

/** enum bpf_core_relo_kind. */
export const CORE_KINDS = [
  'field_byte_offset',
  'field_byte_size',
  'field_exists',
  'field_signed',
  'field_lshift_u64',
  'field_rshift_u64',
  'type_id_local',
  'type_id_target',
  'type_exists',
  'type_size',
  'enumval_exists',
  'enumval_value',
  'type_matches',
] as const;

export type CoreKind = (typeof CORE_KINDS)[number];

/** A field's place, either in the object's types or in the kernel's. */
export interface Place {
  /** From the start of the root type. */
  bit_offset: number;
  bits: number;
  /** Of the member, an array's included. */
  bytes: number;
  /** Of an element. */
  element_bytes: number;
  signed: boolean;
  bit_field: boolean;
  /** An integer or pointer that can be loaded whole. */
  scalar: boolean;
}

/**
 * Bit fields are read as the smallest aligned word that holds them, shifted left and then right:
 * (word << lshift) >> rshift, as BPF_CORE_READ_BITFIELD does.
 */
export function fieldValue(
  kind: CoreKind,
  { bit_offset, bits, bytes, signed, bit_field }: Place,
): bigint | undefined {
  let wordBytes = bytes;
  const byteOffset = () =>
    bit_field ? Math.floor(bit_offset / 8 / wordBytes) * wordBytes : Math.floor(bit_offset / 8);
  if (bit_field) {
    while (bit_offset + bits - byteOffset() * 8 > wordBytes * 8) {
      if (wordBytes >= 8) return undefined;
      wordBytes *= 2;
    }
  }
  switch (kind) {
    case 'field_byte_offset':
      return BigInt(byteOffset());
    case 'field_byte_size':
      return BigInt(wordBytes);
    case 'field_signed':
      return signed ? 1n : 0n;
    case 'field_lshift_u64':
      return BigInt(64 - (bit_offset + bits - byteOffset() * 8));
    default:
      return BigInt(64 - bits);
  }
}
