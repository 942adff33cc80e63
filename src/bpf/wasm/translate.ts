// BPF to Wasm. The contract between a translated module and the engine is in contract.ts.

export * from './contract.js';
