// Rules of kfuncs that a program has broken, in words (assembly/bpf/rules.ts).

const hex = (value: bigint) => `0x${value.toString(16)}`;

const RULES: Record<number, (task: string, detail: bigint) => string> = {
  1: () => 'a kfunc was called from a callback that may not call it',
  2: (task) => `${task} was inserted with flags that only the kernel may give`,
  3: (task) => `${task} was inserted, and is not in the ext class`,
  4: (task) => `${task} was inserted from select_cpu() or enqueue() of another task`,
  5: () => 'one dispatch() inserted more tasks than dispatch_max_batch',
  6: (_, detail) => `there is no DSQ ${hex(detail)}`,
  7: (_, detail) => `DSQ ${hex(detail)} was destroyed while tasks were on it`,
  8: (_, detail) => `there is no CPU ${BigInt.asIntN(32, detail)}`,
  9: () => 'built-in idle tracking was asked for and is off: update_idle() without SCX_OPS_KEEP_BUILTIN_IDLE',
};

export function ruleText(task: string, cpu: number, rule: number, detail: bigint): string {
  const text = RULES[rule]?.(task, detail) ?? `rule ${rule}`;
  return `${text} (on CPU ${cpu})`;
}
