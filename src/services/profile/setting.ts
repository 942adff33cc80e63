// The setting that a profile was recorded at, as file names state it: 1600MHz, 1600MHz_120000qps, 1600MHz_120000qps_4threads.

import { basename, extname } from 'node:path';

export interface Setting {
  frequency?: string;
  load?: string;
  threads?: number;
}

/** What the name of a file says about its setting; {} if it says nothing. */
export function settingOfName(file: string): Setting {
  const setting: Setting = {};
  for (const part of basename(file, extname(file)).split('_')) {
    const match = /^(\d+)(MHz|qps|threads?)$/.exec(part);
    if (match === null) continue;
    if (match[2] === 'MHz') setting.frequency = `${match[1]}MHz`;
    else if (match[2] === 'qps') setting.load = `${match[1]}/s`;
    else setting.threads = Number(match[1]);
  }
  return setting;
}
