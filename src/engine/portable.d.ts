// AssemblyScript's integer types, so that assembly/abi.ts also compiles as TypeScript.
declare type u32 = number;
declare type usize = number;
