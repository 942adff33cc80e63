// Profiles of a services file from recordings: several files of one stage are the settings of one profile.

import { basename, dirname, extname, resolve } from 'node:path';
import { VtimeError } from '../../errors.js';
import { Names } from '../folder/names.js';
import type { PlainTimeInput } from '../schema/time.js';
import type { ServicesInput } from '../schema.js';
import { readListing } from './listing.js';
import { type Setting, settingOfName } from './setting.js';
import { readStamps } from './stamps.js';

type Profiles = NonNullable<ServicesInput['profiles']>;

/**
 * Profiles by stage. `given` overrides what the files' names say about their settings; `name` is the stage of listings, which do not
 * name it (default: their folder).
 */
export async function importProfiles(
  files: readonly string[],
  given: Setting & { name?: string },
): Promise<Profiles> {
  const profiles: Profiles = {};
  const names = new Names();
  const { name, ...ownSetting } = given;
  for (const file of files) {
    const isStamps = extname(file) === '.csv';
    const models: Record<string, PlainTimeInput> = isStamps
      ? await readStamps(file)
      : { [name ?? basename(dirname(resolve(file)))]: readListing(file) };
    const setting = { ...settingOfName(file), ...ownSetting };
    for (const [stage, time] of Object.entries(models)) {
      const key = names.of(isStamps ? stage : (name ?? stage));
      const entries = profiles[key] ?? [];
      profiles[key] = entries;
      if (entries.some((entry) => JSON.stringify(settingOf(entry)) === JSON.stringify(settingOf(setting)))) {
        throw new VtimeError(
          'profile_setting',
          `stage "${stage}" has another recording at the same setting`,
          {
            file,
            value: setting,
            expected: 'a file name like 1600MHz_120000qps.txt, or --frequency, --load, --threads',
          },
        );
      }
      entries.push({ ...setting, time });
    }
  }
  return profiles;
}

const settingOf = ({ frequency, load, threads }: Setting) => [
  frequency ?? null,
  load ?? null,
  threads ?? null,
];
