// AssemblyScript's integer types, so that assembly/abi/ also compiles as TypeScript.
declare type u32 = number;
declare type usize = number;
