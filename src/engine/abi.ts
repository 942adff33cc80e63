// What host and engine agree on: the engine's own constants.

export * from '../../assembly/abi/bpf.js';
export * from '../../assembly/abi/counters.js';
export * from '../../assembly/abi/distributions.js';
export * from '../../assembly/abi/image.js';
export * from '../../assembly/abi/parameters.js';
export * from '../../assembly/abi/programs.js';
export * from '../../assembly/abi/records.js';
export * from '../../assembly/abi/results.js';
export * from '../../assembly/abi/services.js';
export * from '../../assembly/abi/workload.js';
