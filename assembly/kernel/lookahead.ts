// What a policy may know of a task's program: where its instruction pointer is, and an oracle's view of its next burst.

import { OP_JUMP, OP_RUN, OP_SET } from '../abi';
import { draw64, PURPOSE_POLICY, streamKey } from '../core/random';
import { instructionAt, operand, programEnd, programMhz } from './program';
import { replayedPointer, replaying } from './replay';
import { MODE_NONE, MODE_RUN, TASK_DRAW, TASK_KEY, TASK_MODE, TASK_PC, TASK_WORK } from './task';

/** Bytes of code that an instruction stands for; a burst is anywhere in them, a poll in the first few, a blocking call at the first. */
const CODE_SHIFT: u64 = 12;
const CODE_BASE: u64 = 0x400000;
const POLL_BYTES: u64 = 4;

/**
 * Where a task's instruction pointer is as it stops or at a tick. Sample number `sample` of the task is a draw of its own:
 * the program's draws are the same whether or not somebody looks.
 */
export function instructionPointer(t: u32, sample: u64): u64 {
  if (replaying) return replayedPointer;
  const pc = load<u32>(t, TASK_PC);
  const at = CODE_BASE + (((pc != 0 ? pc - 1 : 0) as u64) << CODE_SHIFT);
  const mode = load<u8>(t, TASK_MODE);
  if (mode == MODE_NONE) return at;
  const draw = draw64(streamKey(load<u64>(t, TASK_KEY), PURPOSE_POLICY, 0), sample);
  return at + (mode == MODE_RUN ? draw >> (64 - CODE_SHIFT) : draw % POLL_BYTES);
}

/** Instructions that an oracle looks ahead to find the next use of the CPU. */
const LOOK_AHEAD: u32 = 16;

/** What is left of the task's CPU burst, or the whole of its next one, ns at the reference frequency; 0 if it waits first. */
export function burstLeft(t: u32): u64 {
  if (load<u8>(t, TASK_MODE) == MODE_RUN) return load<u64>(t, TASK_WORK) / programMhz();
  let pc = load<u32>(t, TASK_PC);
  for (let k: u32 = 0; k < LOOK_AHEAD && pc < programEnd(); k++) {
    const i = instructionAt(pc);
    const op = load<u8>(i) as u32;
    if (op == OP_RUN) {
      const draws = load<u32>(t, TASK_DRAW);
      const length = operand(t, i);
      store<u32>(t, draws, TASK_DRAW);
      return length;
    }
    if (op == OP_JUMP) pc = load<u32>(i, 4);
    else if (op == OP_SET) pc++;
    else return 0;
  }
  return 0;
}

