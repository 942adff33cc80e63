// Progress on a terminal, and nothing in a pipe.

import cliProgress from 'cli-progress';

/** Steps of the bar. */
const TOTAL = 1000;

export interface ProgressBar {
  /** `done` 0…1; `events` so far. */
  update(done: number, events: number, text: string): void;
  stop(): void;
}

const SILENT: ProgressBar = { update() {}, stop() {} };

/** A bar on stderr, if that is a terminal and `quiet` is not asked for. */
export function progressBar(quiet = false): ProgressBar {
  if (quiet || process.stderr.isTTY !== true) return SILENT;
  const bar = new cliProgress.SingleBar({
    format: '{bar} {percentage} % | {text} | {rate} M events/s | ETA {eta_formatted}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 50,
  });
  const started = performance.now();
  bar.start(TOTAL, 0, { text: '', rate: '0' });
  return {
    update(done, events, text) {
      const seconds = (performance.now() - started) / 1000;
      bar.update(Math.floor(done * TOTAL), {
        text,
        rate: (events / 1e6 / Math.max(seconds, 1e-3)).toFixed(1),
      });
    },
    stop() {
      bar.stop();
    },
  };
}
