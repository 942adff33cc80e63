// The interpreter of task programs. Instructions run while the task has a CPU; those that take no time run at once,
// until one uses the CPU, waits, or ends the task.
//
// An instruction is 16 B: u8 op, u8 flags, u16 register, u32 a, u64 value (abi/, OP_…).

import {
  CLASS_EXT,
  CLASS_FAIR,
  DECISION_POLL,
  FLAG_DRAW,
  FLAG_OF_JOB,
  FLAG_OVERHEAD,
  FLAG_OWN,
  FLAG_TRY,
  NONE,
  OP_AFFINITY,
  OP_BARRIER,
  OP_BLOCK,
  OP_BRANCH,
  OP_CONTROL,
  OP_EXIT,
  OP_FINISH,
  OP_FORK,
  OP_JOIN,
  OP_JUMP,
  OP_LOOP,
  OP_RECEIVE,
  OP_RUN,
  OP_SEND,
  OP_SERVE,
  OP_SET,
  OP_SIGNAL,
  OP_SLEEP,
  OP_SPIN,
  OP_SPIN_EVENT,
  OP_WAKE,
  OP_YIELD,
  STATE_IO,
  STATE_QUEUED,
  STATE_RUNNING,
  STATE_SIBLINGS,
  WAIT_SLEEP,
} from '../abi';
import { count, INSTRUCTIONS } from '../core/counters';
import { drawValue } from '../core/distribution';
import { fail, FAIL_LIVELOCK, FAIL_PROGRAM } from '../core/failure';
import { BARRIER_SHIFT, CPU_SHIFT, QUEUE_SHIFT, TASK_SHIFT } from '../core/layout';
import { draw64, entityKey, mulQ32 } from '../core/random';
import { serviceNext } from '../services/timer';
import { controlStep, jobDropped, jobFinished } from '../workload/service';
import { opsSetCpumask } from '../policy/ops';
import { setAffinity } from './affinity';
import { BARRIER_SIGNALLED, barrierAddWaiter, barrierRelease } from './barrier';
import { CPU_WORK_BEGIN } from './cpu';
import { detailing, recordDetail } from './decisions';
import { now, timerSet } from './events';
import { explainAttach, explainDetach, explainedJob, explainedTask } from './explain';
import { extYield } from './ext';
import { fairYield } from './fair';
import { barrier, disownJob, fork, join, leaveChildren, leaveParent } from './family';
import { fluid } from './fluid';
import { JOB_DURATION, JOB_KEY, JOB_OVERHEAD, JOB_SENDS, jobState } from './job';
import { maskAddress, maskTest } from './mask';
import { queueAddWaiter, queueIsEmpty, queueIsFull, queuePop, queuePush, queueTakeWaiter } from './queue';
import { rtYield } from './rt';
import { updateCurr } from './charge';
import { deactivate, leaveRunning, wakeUp } from './wakeup';
import { noteForegroundExit, templateTask } from './spawn';
import {
  FLAG_BACKGROUND,
  FLAG_CONTROL,
  FLAG_MAIN,
  FLAG_MEMBER,
  FLAG_POLLED,
  FLAG_RETRIES,
  FLAG_WAKE_PENDING,
  MODE_FLUID,
  MODE_RUN,
  MODE_SPIN,
  MODE_SPIN_EVENT,
  STATE_BLOCKED,
  STATE_DEAD,
  STATE_FREE,
  STATE_SLEEPING,
  TASK_BARRIER,
  TASK_CLASS,
  TASK_DRAW,
  TASK_FLAGS,
  TASK_JOB,
  TASK_KEY,
  TASK_MASK,
  TASK_MODE,
  TASK_PC,
  TASK_PID,
  TASK_QUEUE,
  TASK_REGISTERS,
  TASK_STATE,
  TASK_WAIT_FLAGS,
  TASK_WAIT_NEXT,
  TASK_WORK,
} from './task';
import { waitCause } from './waits';

// Waits that are found by the task that ends them, not by a list: kept in TASK_WAIT_NEXT, where no handle is as large.
export const WAITS_IN_JOIN: u32 = NONE;
export const WAITS_IN_BLOCK: u32 = NONE - 1;

/** More instructions than this without time passing is a livelock. */
const MAX_INSTRUCTIONS_AT_ONCE: u32 = 1000000;

let program: usize = 0;
let programLength: u32 = 0;
let referenceMhz: u64 = 1;

export function programInit(address: usize, length: u32, mhz: u64): void {
  program = address;
  programLength = length;
  referenceMhz = mhz;
}

// @ts-ignore: decorator
@inline
export function programEnd(): u32 {
  return programLength;
}

/** Frequency in which run lengths are stated, MHz. */
// @ts-ignore: decorator
@inline
export function programMhz(): u64 {
  return referenceMhz;
}

// @ts-ignore: decorator
@inline
export function instructionAt(pc: u32): usize {
  return program + ((pc as usize) << 4);
}

/** The next instruction uses the CPU: it may be started before the costs of the switch are paid. */
// @ts-ignore: decorator
@inline
export function startsRun(t: u32): bool {
  return load<u8>(program + ((load<u32>(t, TASK_PC) as usize) << 4)) == OP_RUN;
}

// @ts-ignore: decorator
@inline
export function operand(t: u32, i: usize): u64 {
  const flags = load<u8>(i, 1);
  if ((flags & FLAG_DRAW) != 0) {
    const index = load<u32>(t, TASK_DRAW);
    store<u32>(t, index + 1, TASK_DRAW);
    return drawValue(load<u32>(i, 4), load<u64>(t, TASK_KEY), index);
  }
  const value = load<u64>(i, 8);
  if ((flags & FLAG_OF_JOB) != 0) return mulQ32(load<u64>(load<u32>(t, TASK_JOB), JOB_DURATION), value);
  if ((flags & FLAG_OVERHEAD) != 0) return load<u64>(load<u32>(t, TASK_JOB), JOB_OVERHEAD);
  return value;
}

// ---- jobs -----------------------------------------------------------------------------------------------

/** The job is served by t from now on; its draws are the job's, whoever serves it. */
export function attachJob(t: u32, j: u32, stage: u64): void {
  if (j == explainedJob) explainAttach(t);
  // A child may have worked for its parent's job, and have children that do.
  const before = load<u32>(t, TASK_JOB);
  if (before != 0) disownJob(t, before);
  store<u32>(t, j, TASK_JOB);
  store<u64>(t, entityKey(load<u64>(j, JOB_KEY), stage), TASK_KEY);
  store<u32>(t, 0, TASK_DRAW);
  const flags = load<u16>(t, TASK_FLAGS);
  if ((flags & FLAG_CONTROL) == 0) store<u16>(t, (flags | FLAG_MAIN) as u16, TASK_FLAGS);
}

export function detachJob(t: u32): void {
  if (t == explainedTask) explainDetach();
  store<u32>(t, 0, TASK_JOB);
  store<u16>(t, (load<u16>(t, TASK_FLAGS) & ~FLAG_MAIN) as u16, TASK_FLAGS);
}

/** Gives the job to a waiting receiver, or queues it. `state` is what the job's time in the queue counts as. */
export function queueSend(q: u32, j: u32, state: u32, wakerCpu: i32, wakerTask: u32): void {
  jobState(j, state);
  const t = queueTakeWaiter(q);
  if (t == 0) {
    queuePush(q, j);
    return;
  }
  attachJob(t, j, load<u32>(j, JOB_SENDS));
  wakeUp(t, wakerCpu, wakerTask);
}

/** Runs t on c. True: it has something timed to do there (or yielded); false: it has left the CPU. */
export function advance(c: u32, t: u32): bool {
  let steps: u32 = 0;
  for (;;) {
    if (++steps > MAX_INSTRUCTIONS_AT_ONCE) {
      fail(FAIL_LIVELOCK, load<u32>(t, TASK_PID), c >> CPU_SHIFT, 0);
      return true;
    }
    const pc = load<u32>(t, TASK_PC);
    if (pc >= programLength) {
      fail(FAIL_PROGRAM, load<u32>(t, TASK_PID), c >> CPU_SHIFT, pc);
      return true;
    }
    const i = program + ((pc as usize) << 4);
    store<u32>(t, pc + 1, TASK_PC);
    const op = load<u8>(i) as u32;
    if (op == OP_RUN) {
      store<u64>(t, operand(t, i) * referenceMhz, TASK_WORK);
      store<u8>(t, MODE_RUN, TASK_MODE);
      if (fluid && load<u8>(t, TASK_CLASS) == CLASS_EXT) store<u8>(t, MODE_FLUID, TASK_MODE);
      // Costs of the switch may reach beyond now; what came before this instruction doesn't count.
      if (load<u64>(c, CPU_WORK_BEGIN) < now) store<u64>(c, now, CPU_WORK_BEGIN);
      count(INSTRUCTIONS, steps);
      return true;
    }
    if (op == OP_SLEEP) {
      store<u8>(t, load<u8>(i, 1), TASK_WAIT_FLAGS);
      sleep(c, t, operand(t, i));
      count(INSTRUCTIONS, steps);
      return false;
    }
    if (op == OP_JUMP) {
      store<u32>(t, load<u32>(i, 4), TASK_PC);
      continue;
    }
    if (op == OP_LOOP) {
      const r = t + (load<u16>(i, 2) << 2);
      const left = load<u32>(r, TASK_REGISTERS) - 1;
      store<u32>(r, left, TASK_REGISTERS);
      if (left != 0) store<u32>(t, load<u32>(i, 4), TASK_PC);
      continue;
    }
    const outcome = execute(op, i, c, t);
    if (outcome == CONTINUE) continue;
    count(INSTRUCTIONS, steps);
    return outcome == TIMED;
  }
}

// What an instruction leaves behind: the task goes on at once, has something timed to do on its CPU, has left it.
export const CONTINUE: u32 = 0;
export const TIMED: u32 = 1;
export const LEFT: u32 = 2;

function sleep(c: u32, t: u32, length: u64): void {
  deactivate(c, t, STATE_SLEEPING, STATE_IO);
  timerSet(t >> TASK_SHIFT, t, now + length);
}

function execute(op: u32, i: usize, c: u32, t: u32): u32 {
  const flags = load<u8>(i, 1);
  const a = load<u32>(i, 4);
  switch (op) {
    case OP_SPIN: {
      const begin = load<u64>(c, CPU_WORK_BEGIN);
      store<u64>(t, (begin > now ? begin : now) + operand(t, i), TASK_WORK);
      poll(t, MODE_SPIN);
      return TIMED;
    }
    case OP_RECEIVE: {
      const q = (flags & FLAG_OWN) != 0 ? load<u32>(t, TASK_QUEUE) : a << QUEUE_SHIFT;
      if ((flags & FLAG_TRY) == 0 || !queueIsEmpty(q)) return receive(q, c, t);
      store<u32>(t, load<u64>(i, 8) as u32, TASK_PC);
      store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_RETRIES) as u16, TASK_FLAGS);
      return CONTINUE;
    }
    case OP_SEND: {
      const j = load<u32>(t, TASK_JOB);
      if (j == 0) return refuse(c, t);
      updateCurr(c);
      leaveRunning(c, t, j, STATE_QUEUED);
      disownJob(t, j);
      detachJob(t);
      store<u32>(j, load<u32>(j, JOB_SENDS) + 1, JOB_SENDS);
      if (queueIsFull(a << QUEUE_SHIFT)) jobDropped(j);
      else queueSend(a << QUEUE_SHIFT, j, STATE_QUEUED, (c >> CPU_SHIFT) as i32, t);
      return CONTINUE;
    }
    case OP_CONTROL: {
      const j = load<u32>(t, TASK_JOB);
      updateCurr(c);
      if ((load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0) leaveRunning(c, t, j, STATE_RUNNING);
      disownJob(t, j);
      detachJob(t);
      controlStep(j, (c >> CPU_SHIFT) as i32, t);
      return CONTINUE;
    }
    case OP_FINISH:
      if (load<u32>(t, TASK_JOB) == 0) return refuse(c, t);
      finish(c, t);
      return CONTINUE;
    case OP_BARRIER:
      return barrier((flags & FLAG_OWN) != 0 ? load<u32>(t, TASK_BARRIER) : a << BARRIER_SHIFT, flags, c, t);
    case OP_FORK:
      return fork(a, operand(t, i) as u32, c, t);
    case OP_JOIN:
      return join(flags, c, t);
    case OP_EXIT:
      return exit(c, t);
    case OP_SET: {
      store<u32>(t + (load<u16>(i, 2) << 2), operand(t, i) as u32, TASK_REGISTERS);
      return CONTINUE;
    }
    case OP_SERVE:
      return serve(c, t);
    case OP_BRANCH: {
      const index = load<u32>(t, TASK_DRAW);
      store<u32>(t, index + 1, TASK_DRAW);
      if (draw64(load<u64>(t, TASK_KEY), index) >> 32 < load<u64>(i, 8)) store<u32>(t, a, TASK_PC);
      return CONTINUE;
    }
    case OP_YIELD:
      updateCurr(c);
      if (load<u8>(t, TASK_CLASS) == CLASS_EXT) extYield(c >> CPU_SHIFT, t);
      else if (load<u8>(t, TASK_CLASS) == CLASS_FAIR) fairYield(c >> CPU_SHIFT, t);
      else rtYield(t, c >> CPU_SHIFT);
      return TIMED;
    case OP_BLOCK: {
      const taskFlags = load<u16>(t, TASK_FLAGS);
      if ((taskFlags & FLAG_WAKE_PENDING) != 0) {
        store<u16>(t, (taskFlags & ~FLAG_WAKE_PENDING) as u16, TASK_FLAGS);
        return CONTINUE;
      }
      store<u32>(t, WAITS_IN_BLOCK, TASK_WAIT_NEXT);
      deactivate(c, t, STATE_BLOCKED, STATE_SIBLINGS);
      return LEFT;
    }
    case OP_WAKE: {
      const target = templateTask(a, load<u64>(i, 8) as u32);
      if (!isMember(target)) return CONTINUE;
      // What it is blocked in may be a receive, a join or a barrier: only a block is ended by a wake.
      if (load<u8>(target, TASK_STATE) == STATE_BLOCKED && load<u32>(target, TASK_WAIT_NEXT) == WAITS_IN_BLOCK) {
        store<u32>(target, 0, TASK_WAIT_NEXT);
        wakeUp(target, (c >> CPU_SHIFT) as i32, t);
      } else store<u16>(target, (load<u16>(target, TASK_FLAGS) | FLAG_WAKE_PENDING) as u16, TASK_FLAGS);
      return CONTINUE;
    }
    case OP_SPIN_EVENT: {
      const b = a << BARRIER_SHIFT;
      if (load<u32>(b, BARRIER_SIGNALLED) != 0) return CONTINUE;
      barrierAddWaiter(b, t);
      poll(t, MODE_SPIN_EVENT);
      return TIMED;
    }
    case OP_SIGNAL:
      store<u32>(a << BARRIER_SHIFT, 1, BARRIER_SIGNALLED);
      barrierRelease(a << BARRIER_SHIFT, (c >> CPU_SHIFT) as i32, t);
      return CONTINUE;
    case OP_AFFINITY: {
      const target = load<u64>(i, 8);
      if (target != 0) {
        const other = templateTask(((target >> 32) as u32) - 1, target as u32);
        if (isMember(other)) setAffinity(other, a);
        return CONTINUE;
      }
      store<u32>(t, a, TASK_MASK);
      if (load<u8>(t, TASK_CLASS) == CLASS_EXT) opsSetCpumask(t);
      if (a == 0 || maskTest(maskAddress(a), c >> CPU_SHIFT)) return CONTINUE;
      // The current CPU is no longer allowed: leave it and be placed anew.
      deactivate(c, t, STATE_SLEEPING, STATE_IO);
      timerSet(t >> TASK_SHIFT, t, now);
      return LEFT;
    }
    default:
      return refuse(c, t);
  }
}

function serve(c: u32, t: u32): u32 {
  updateCurr(c);
  // It comes back here when the time is over, or when it is woken.
  store<u32>(t, load<u32>(t, TASK_PC) - 1, TASK_PC);
  const time = serviceNext(t, (c >> CPU_SHIFT) as i32);
  if (time == u64.MAX_VALUE) {
    deactivate(c, t, STATE_BLOCKED, STATE_IO);
    return LEFT;
  }
  store<u64>(t, time * referenceMhz, TASK_WORK);
  store<u8>(t, MODE_RUN, TASK_MODE);
  if (fluid && load<u8>(t, TASK_CLASS) == CLASS_EXT) store<u8>(t, MODE_FLUID, TASK_MODE);
  if (load<u64>(c, CPU_WORK_BEGIN) < now) store<u64>(c, now, CPU_WORK_BEGIN);
  return TIMED;
}

/** The instruction makes no sense here: the run fails. */
function refuse(c: u32, t: u32): u32 {
  fail(FAIL_PROGRAM, load<u32>(t, TASK_PID), c >> CPU_SHIFT, load<u32>(t, TASK_PC) - 1);
  return TIMED;
}

/** Whether the template's own task is still in its slot, and not another that took it over. */
// @ts-ignore: decorator
@inline
function isMember(t: u32): bool {
  return load<u8>(t, TASK_STATE) != STATE_FREE && (load<u16>(t, TASK_FLAGS) & FLAG_MEMBER) != 0;
}

// @ts-ignore: decorator
@inline
export function poll(t: u32, mode: u8): void {
  if (detailing) recordDetail(DECISION_POLL, t, mode == MODE_SPIN ? WAIT_SLEEP : waitCause(t));
  store<u8>(t, mode, TASK_MODE);
  store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_POLLED) as u16, TASK_FLAGS);
}

function receive(q: u32, c: u32, t: u32): u32 {
  const j = queuePop(q);
  if (j != 0) {
    attachJob(t, j, load<u32>(j, JOB_SENDS));
    if ((load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0) jobState(j, STATE_RUNNING);
    return CONTINUE;
  }
  queueAddWaiter(q, t);
  deactivate(c, t, STATE_BLOCKED, STATE_IO);
  return LEFT;
}

function finish(c: u32, t: u32): void {
  const j = load<u32>(t, TASK_JOB);
  updateCurr(c);
  leaveRunning(c, t, j, STATE_RUNNING);
  disownJob(t, j);
  detachJob(t);
  jobFinished(j);
}

function exit(c: u32, t: u32): u32 {
  if ((load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0) finish(c, t);
  leaveChildren(t);
  deactivate(c, t, STATE_DEAD, STATE_RUNNING);
  if ((load<u16>(t, TASK_FLAGS) & FLAG_BACKGROUND) == 0) noteForegroundExit();
  leaveParent(c, t);
  return LEFT;
}
