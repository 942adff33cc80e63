// From the image to records: times, stages and code paths of instances.

import {
  NONE,
  SECTION_SV_PATHS,
  SECTION_SV_POINTS,
  SECTION_SV_STAGES,
  SECTION_SV_TIMINGS,
  SVI_PATH_COUNT,
  SVI_PATHS,
  SVP_PRIORITY,
  SVP_PROBABILITY,
  SVP_STAGE_COUNT,
  SVP_STAGES,
  SVP_STRIDE,
  SVS_CRITICAL,
  SVS_FLAGS,
  SVS_IDENTITY,
  SVS_LIMIT,
  SVS_REPEAT,
  SVS_REPEAT_DRAWN,
  SVS_STRIDE,
  SVS_TAKE,
  SVS_TIMING,
  SVT_POINTS,
  SVT_STRIDE,
  TAKE_ONE,
} from '../abi';
import { section, sectionRows } from '../model';
import {
  PATH_BYTES,
  PATH_PRIORITY,
  PATH_PROBABILITY,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  STAGE_BYTES,
  STAGE_CRITICAL,
  STAGE_FLAGS,
  STAGE_INDEX,
  STAGE_LAST,
  STAGE_LIMIT,
  STAGE_PATH,
  STAGE_PEER_COUNT,
  STAGE_PEERS,
  STAGE_REPEAT,
  STAGE_REPEAT_DRAWN,
  STAGE_TAKE,
  STAGE_TIMING,
  STAGE_TIMINGS,
} from './records';
import { allocate, listAddress, paths, stages, timings } from './tables';

export function loadTimings(): void {
  const points = section(SECTION_SV_POINTS);
  const from = section(SECTION_SV_TIMINGS);
  const n = sectionRows();
  memory.copy(timings, from, (n as usize) * SVT_STRIDE);
  for (let i: u32 = 0; i < n; i++) {
    const at = timings + i * SVT_STRIDE;
    store<u32>(at, (points + ((load<u32>(at, SVT_POINTS) as usize) << 4)) as u32, SVT_POINTS);
  }
}

export function loadStages(): void {
  const from = section(SECTION_SV_STAGES);
  const n = sectionRows();
  for (let i: u32 = 0; i < n; i++) {
    const row = from + (i as usize) * SVS_STRIDE;
    const stage = stages + i * (STAGE_BYTES as u32);
    store<u32>(stage, load<u32>(row, SVS_TAKE), STAGE_TAKE);
    store<u32>(stage, load<u32>(row, SVS_LIMIT), STAGE_LIMIT);
    store<u32>(stage, load<u32>(row, SVS_FLAGS), STAGE_FLAGS);
    store<u32>(stage, load<u32>(row, SVS_REPEAT), STAGE_REPEAT);
    store<u32>(stage, load<u32>(row, SVS_REPEAT_DRAWN), STAGE_REPEAT_DRAWN);
    store<u32>(stage, timings + load<u32>(row, SVS_TIMING) * SVT_STRIDE, STAGE_TIMINGS);
    store<u32>(stage, load<u32>(stage, STAGE_TIMINGS), STAGE_TIMING);
  }
  const pathRows = section(SECTION_SV_PATHS);
  const pathCount = sectionRows();
  for (let i: u32 = 0; i < pathCount; i++) {
    const row = pathRows + (i as usize) * SVP_STRIDE;
    const path = paths + i * (PATH_BYTES as u32);
    const first = stages + load<u32>(row, SVP_STAGES) * (STAGE_BYTES as u32);
    const length = load<u32>(row, SVP_STAGE_COUNT);
    store<u32>(path, first, PATH_STAGES);
    store<u32>(path, length, PATH_STAGE_COUNT);
    store<u32>(path, listAddress(load<u32>(row, SVP_PRIORITY)), PATH_PRIORITY);
    store<u64>(path, load<u64>(row, SVP_PROBABILITY), PATH_PROBABILITY);
    for (let k: u32 = 0; k < length; k++) {
      const stage = first + k * (STAGE_BYTES as u32);
      store<u32>(stage, k, STAGE_INDEX);
      store<u32>(stage, path, STAGE_PATH);
      store<u32>(stage, (k + 1 == length) as u32, STAGE_LAST);
    }
  }
}

/** Stages of one identity: those that take more than one call are served together; those with a critical section share it. */
export function joinStages(row: usize): void {
  const first = load<u32>(row, SVI_PATHS);
  const n = load<u32>(row, SVI_PATH_COUNT);
  const stageRows = section(SECTION_SV_STAGES);
  const begin = (load<u32>(paths + first * (PATH_BYTES as u32), PATH_STAGES) - stages) / (STAGE_BYTES as u32);
  let end = begin;
  for (let p: u32 = 0; p < n; p++) end += load<u32>(paths + (first + p) * (PATH_BYTES as u32), PATH_STAGE_COUNT);
  for (let i = begin; i < end; i++) {
    const stage = stages + i * (STAGE_BYTES as u32);
    const stageRow = stageRows + (i as usize) * SVS_STRIDE;
    const identity = load<u32>(stageRow, SVS_IDENTITY);
    const limit = load<u32>(stageRow, SVS_CRITICAL);
    let same: u32 = 0;
    let earlier: u32 = NONE;
    for (let k = begin; k < end; k++) {
      if (load<u32>(stageRows + (k as usize) * SVS_STRIDE, SVS_IDENTITY) != identity) continue;
      same++;
      if (k < i && earlier == NONE) earlier = k;
    }
    if (earlier != NONE) {
      const other = stages + earlier * (STAGE_BYTES as u32);
      store<u32>(stage, load<u32>(other, STAGE_PEERS), STAGE_PEERS);
      store<u32>(stage, load<u32>(other, STAGE_PEER_COUNT), STAGE_PEER_COUNT);
      store<u32>(stage, load<u32>(other, STAGE_CRITICAL), STAGE_CRITICAL);
      continue;
    }
    if (limit != 0) {
      const section = allocate(1, 8);
      store<u32>(section, limit);
      store<u32>(stage, section, STAGE_CRITICAL);
    }
    if (same < 2 || load<u32>(stage, STAGE_TAKE) == TAKE_ONE) continue;
    const peers = allocate(same, 4);
    let used: u32 = 0;
    for (let k = begin; k < end; k++) {
      if (load<u32>(stageRows + (k as usize) * SVS_STRIDE, SVS_IDENTITY) != identity) continue;
      store<u32>(peers + (used << 2), stages + k * (STAGE_BYTES as u32));
      used++;
    }
    store<u32>(stage, peers, STAGE_PEERS);
    store<u32>(stage, used, STAGE_PEER_COUNT);
  }
}

/** The path's stages take the times of a frequency step from now on. */
export function setStep(path: u32, step: u32): void {
  for (let k: u32 = 0, n = load<u32>(path, PATH_STAGE_COUNT); k < n; k++) {
    const stage = load<u32>(path, PATH_STAGES) + k * (STAGE_BYTES as u32);
    store<u32>(stage, load<u32>(stage, STAGE_TIMINGS) + step * SVT_STRIDE, STAGE_TIMING);
  }
}
