// The part of the WebAssembly interface that the engine's loader uses; Node's types leave it to the DOM library.
declare namespace WebAssembly {
  class Module {
    constructor(bytes: BufferSource);
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  class RuntimeError extends Error {}
  type BufferSource = ArrayBufferView | ArrayBuffer;
}
