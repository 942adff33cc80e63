// Which stage a thread serves next. It remembers for each code path the stage to serve there next: after a stage the one behind it, so
// that it follows what it has taken to the end; after the last stage of the path the first one by priority that has calls. Among the
// paths it serves the one whose first call is a reply, then the one whose first call has waited longest.

import { now } from '../kernel/events';
import { CALL_FLAGS, CALL_REPLY, CALL_TIME } from './call';
import {
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  PATH_BYTES,
  PATH_INDEX,
  PATH_PRIORITY,
  PATH_QUEUE,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  STAGE_BYTES,
  STAGE_CRITICAL,
  STAGE_QUEUE_COUNT,
  STAGE_QUEUE_SHIFT,
  THREAD_DECIDED,
  THREAD_INSTANCE,
  THREAD_PATHS,
  THREAD_QUEUES,
  THREAD_WAITING,
} from './records';
import { stageQueueHead } from './stagequeue';

// @ts-ignore: decorator
@inline
export function queueOf(thread: u32, path: u32, stage: u32): u32 {
  return load<u32>(thread, THREAD_QUEUES) + ((load<u32>(path, PATH_QUEUE) + stage) << STAGE_QUEUE_SHIFT);
}

// @ts-ignore: decorator
@inline
export function setNext(thread: u32, path: u32, stage: u32): void {
  const at = thread + (load<u32>(path, PATH_INDEX) << 1);
  store<u8>(at, stage as u8, THREAD_PATHS);
  store<u8>(at, 1, THREAD_DECIDED);
}

/** The first stage by priority that has calls becomes the path's next. False: none has. */
function decide(thread: u32, path: u32): bool {
  const priority = load<u32>(path, PATH_PRIORITY);
  for (let i: u32 = 0, n = load<u32>(path, PATH_STAGE_COUNT); i < n; i++) {
    const stage = load<u32>(priority + (i << 2));
    if (load<u32>(queueOf(thread, path, stage), STAGE_QUEUE_COUNT) == 0) continue;
    setNext(thread, path, stage);
    return true;
  }
  store<u8>(thread + (load<u32>(path, PATH_INDEX) << 1), 0, THREAD_DECIDED);
  return false;
}

/** Stage that the thread would serve now, 0 if none. */
export function pick(thread: u32): u32 {
  if (load<u32>(thread, THREAD_WAITING) == 0) return 0;
  const instance = load<u32>(thread, THREAD_INSTANCE);
  let path = load<u32>(instance, INSTANCE_PATHS);
  let chosen: u32 = 0;
  let first: u32 = 0;
  for (let p: u32 = 0, n = load<u32>(instance, INSTANCE_PATH_COUNT); p < n; p++, path += PATH_BYTES as u32) {
    const at = thread + (p << 1);
    if (load<u8>(at, THREAD_DECIDED) == 0 && !decide(thread, path)) continue;
    let q = queueOf(thread, path, load<u8>(at, THREAD_PATHS));
    if (load<u32>(q, STAGE_QUEUE_COUNT) == 0) {
      // What it would have followed has gone another way.
      if (!decide(thread, path)) continue;
      q = queueOf(thread, path, load<u8>(at, THREAD_PATHS));
    }
    const stage = load<u32>(path, PATH_STAGES) + (load<u8>(at, THREAD_PATHS) as u32) * (STAGE_BYTES as u32);
    const critical = load<u32>(stage, STAGE_CRITICAL);
    if (critical != 0 && load<u32>(critical) == 0) continue;
    if (n == 1) return stage;
    const head = stageQueueHead(q);
    if (chosen != 0 && !goesBefore(head, first)) continue;
    chosen = stage;
    first = head;
  }
  return chosen;
}

// @ts-ignore: decorator
@inline
function goesBefore(a: u32, b: u32): bool {
  const reply = load<u32>(a, CALL_FLAGS) & CALL_REPLY;
  const other = load<u32>(b, CALL_FLAGS) & CALL_REPLY;
  if (reply != other) return reply != 0;
  return load<u64>(a, CALL_TIME) < load<u64>(b, CALL_TIME);
}
