// Writing the model image and finding sections in a result image; the format is drawn in assembly/abi/.

import { EngineError } from '../errors.js';
import { IMAGE_HEADER_BYTES, IMAGE_MAGIC, IMAGE_SECTION_BYTES, IMAGE_VERSION } from './abi.js';

/** A section under construction: fixed-size records, zero where nothing is written. */
export class Section {
  readonly stride: number;
  #bytes: Uint8Array;
  #view: DataView;
  #count = 0;

  constructor(stride: number, capacity = 16) {
    this.stride = stride;
    this.#bytes = new Uint8Array(stride * capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#count * this.stride);
  }

  /** Appends a zeroed record; returns its index. */
  add(): number {
    if ((this.#count + 1) * this.stride > this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return this.#count++;
  }

  u8(index: number, offset: number, value: number): void {
    this.#view.setUint8(index * this.stride + offset, value);
  }

  u16(index: number, offset: number, value: number): void {
    this.#view.setUint16(index * this.stride + offset, value, true);
  }

  u32(index: number, offset: number, value: number): void {
    this.#view.setUint32(index * this.stride + offset, value, true);
  }

  u64(index: number, offset: number, value: bigint | number): void {
    this.#view.setBigUint64(index * this.stride + offset, BigInt(value), true);
  }
}

/** Joins sections into a model image. */
export function buildImage(sections: ReadonlyMap<number, Section>): Uint8Array {
  let end = IMAGE_HEADER_BYTES + sections.size * IMAGE_SECTION_BYTES;
  const placed = [...sections].map(([id, section]) => {
    const offset = (end + 7) & ~7;
    end = offset + section.bytes.length;
    return { id, section, offset };
  });
  const image = new Uint8Array((end + 7) & ~7);
  const view = new DataView(image.buffer);
  view.setUint32(0, IMAGE_MAGIC, true);
  view.setUint32(4, IMAGE_VERSION, true);
  view.setUint32(8, image.length, true);
  view.setUint32(12, placed.length, true);
  placed.forEach(({ id, section, offset }, i) => {
    const entry = IMAGE_HEADER_BYTES + i * IMAGE_SECTION_BYTES;
    view.setUint32(entry, id, true);
    view.setUint32(entry + 4, section.count, true);
    view.setUint32(entry + 8, offset, true);
    view.setUint32(entry + 12, section.stride, true);
    image.set(section.bytes, offset);
  });
  return image;
}

/** Where a section of an image lies. */
export interface SectionPlace {
  /** Byte offset inside the view. */
  offset: number;
  count: number;
  stride: number;
}

/** The section table of the image at `address` of the view. */
export function readSections(view: DataView, address: number): Map<number, SectionPlace> {
  if (view.getUint32(address, true) !== IMAGE_MAGIC || view.getUint32(address + 4, true) !== IMAGE_VERSION) {
    throw new EngineError('result_image', 'the engine returned no result image of this version');
  }
  const sections = new Map<number, SectionPlace>();
  for (let i = 0; i < view.getUint32(address + 12, true); i++) {
    const entry = address + IMAGE_HEADER_BYTES + i * IMAGE_SECTION_BYTES;
    sections.set(view.getUint32(entry, true), {
      count: view.getUint32(entry + 4, true),
      offset: address + view.getUint32(entry + 8, true),
      stride: view.getUint32(entry + 12, true),
    });
  }
  return sections;
}
