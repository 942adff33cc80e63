// What host and engine agree on. The files of abi/ are plain constants that compile on both sides; src/engine/abi.ts gathers
// them for the host.

export * from './abi/image';
export * from './abi/parameters';
export * from './abi/distributions';
export * from './abi/programs';
export * from './abi/workload';
export * from './abi/counters';
export * from './abi/results';
export * from './abi/records';
export * from './abi/services';
export * from './abi/bpf';
