// The part of the WebAssembly interface that vtime uses; Node's types leave it to the DOM library.
declare namespace WebAssembly {
  class Module {
    constructor(bytes: BufferSource);
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, unknown>>);
    readonly exports: Record<string, unknown>;
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
  }
  class Table {
    constructor(descriptor: { element: 'anyfunc'; initial: number });
    readonly length: number;
    grow(slots: number): number;
  }
  class Global {
    constructor(descriptor: { value: 'i32' | 'i64'; mutable?: boolean }, value: number | bigint);
  }
  class RuntimeError extends Error {}
  type BufferSource = ArrayBufferView | ArrayBuffer;
}
