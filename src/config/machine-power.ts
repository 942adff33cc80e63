// Power of a busy core by frequency, and the turbo limits that keep a package within its TDP.
//
// A core in C0 at frequency f draws a + b·f·V(f)²: a does not depend on the frequency (leakage, clock tree), the
// rest is switching power, V(f) is linear between the profile's points. Two measured points fix a and b:
//
//   a + b·f_base·V(f_base)² = base_mw
//   uncore_mw + n·(a + b·f·V(f)²) = package_mw      with n busy cores at frequency f ("full load")

import { VtimeError } from '../errors.js';

export interface PowerModel {
  /** Power of a core busy at the base frequency. */
  base_mw: number;
  voltage: { mhz: number; mv: number }[];
  full_load: { busy_cores: number; mhz: number; package_mw: number };
}

export interface PowerRow {
  mhz: number;
  mw: number;
}

/** Linear between the points, constant outside. */
function volts(points: PowerModel['voltage'], mhz: number): number {
  const above = points.findIndex((point) => point.mhz >= mhz);
  if (above <= 0) return points[above === 0 ? 0 : points.length - 1].mv / 1000;
  const [low, high] = [points[above - 1], points[above]];
  return (low.mv + ((high.mv - low.mv) * (mhz - low.mhz)) / (high.mhz - low.mhz)) / 1000;
}

/** a in mW and b in mW / (MHz·V²). */
export function calibrate(model: PowerModel, baseMhz: number, uncoreMw: number): { a: number; b: number } {
  const switching = (mhz: number) => mhz * volts(model.voltage, mhz) ** 2;
  const { busy_cores, mhz, package_mw } = model.full_load;
  const full_mw = (package_mw - uncoreMw) / busy_cores;
  const b = (full_mw - model.base_mw) / (switching(mhz) - switching(baseMhz));
  const a = model.base_mw - b * switching(baseMhz);
  if (!(a >= 0 && b > 0 && Number.isFinite(b))) {
    throw new VtimeError('machine_power', `the power model gives a = ${a} mW and b = ${b} mW/(MHz·V²)`, {
      path: 'core_power_model',
      expected: 'two different frequencies whose power calls for a ≥ 0 and b > 0',
    });
  }
  return { a, b };
}

/** One row per 100 MHz from the lowest to the highest frequency, and one for each of `exact`. */
export function powerRows(
  model: PowerModel,
  baseMhz: number,
  uncoreMw: number,
  exact: readonly number[],
): PowerRow[] {
  const { a, b } = calibrate(model, baseMhz, uncoreMw);
  const [lowest, highest] = [Math.min(...exact), Math.max(...exact)];
  const steps = new Set(exact);
  for (let mhz = Math.ceil(lowest / 100) * 100; mhz < highest; mhz += 100) steps.add(mhz);
  return [...steps]
    .sort((x, y) => x - y)
    .map((mhz) => ({ mhz, mw: Math.round(a + b * mhz * volts(model.voltage, mhz) ** 2) }));
}

/** As the engine looks it up: the nearest row not below, or the last. */
export function busyMw(rows: readonly PowerRow[], mhz: number): number {
  return (rows.find((row) => row.mhz >= mhz) ?? rows[rows.length - 1]).mw;
}

export interface TurboRow {
  /** The limit holds up to this many active cores. */
  active_cores: number;
  mhz: number;
}

/**
 * The turbo table with each row lowered, by frequency steps, until its cores busy at its limit, the inactive rest
 * and the uncore stay within the TDP (0 = none). With such a table no set of busy cores exceeds the TDP.
 */
export function limitTurboToTdp(
  turbo: readonly TurboRow[],
  rows: readonly PowerRow[],
  package_: { cores: number; uncore_mw: number; inactive_mw: number; tdp_mw: number },
): TurboRow[] {
  if (package_.tdp_mw === 0) return [...turbo];
  const fits = (active: number, mhz: number) =>
    package_.uncore_mw + active * busyMw(rows, mhz) + (package_.cores - active) * package_.inactive_mw <=
    package_.tdp_mw;
  return turbo.map((row) => {
    if (fits(row.active_cores, row.mhz)) return row;
    const step = rows.findLast(({ mhz }) => mhz < row.mhz && fits(row.active_cores, mhz));
    if (step === undefined) {
      throw new VtimeError(
        'machine_power',
        `${row.active_cores} busy cores exceed the TDP at any frequency`,
        {
          path: 'tdp_mw',
          value: package_.tdp_mw,
          expected: 'a TDP that all cores keep at the lowest frequency',
        },
      );
    }
    return { ...row, mhz: step.mhz };
  });
}
