// Stage times that are constants of the µqSim release's source, not of its input files (src/stage.cc at 78a8957).

import type { StageTime } from '../schema/time.js';

/** epoll: exponential, mean round(0.38 (n − 7) + 3.8) µs for n connections. */
export const EPOLL: StageTime = {
  linear: { of: 'connections', base: '1140ns', each: '380ns', round: '1us', draw: 'exponential' },
};

/** Reads of a socket by the bytes of the batch; above 2268 bytes as many reads of that size as there are whole ones. */
export const SOCKET: StageTime = {
  table: {
    of: 'bytes',
    points: [
      [35, '800ns'],
      [70, '1600ns'],
      [270, '3us'],
      [786, '5400ns'],
      [1836, '11600ns'],
      [2268, '26us'],
    ],
    beyond: 'repeat',
    draw: 'exponential',
  },
};

/** Bytes of a job. */
export const PACKET = '7B';

/** Numbers of percentiles with the same time in µs, from 0 % on. */
const NGINX_PERCENTILES: readonly (readonly [number, number])[] = [
  [1, 17],
  [1, 18],
  [1, 19],
  [1, 20],
  [1, 21],
  [3, 22],
  [3, 23],
  [3, 24],
  [5, 25],
  [6, 26],
  [7, 27],
  [8, 28],
  [9, 29],
  [8, 30],
  [8, 31],
  [7, 32],
  [7, 33],
  [5, 34],
  [4, 35],
  [3, 36],
  [2, 37],
  [2, 38],
  [1, 39],
  [1, 40],
  [1, 43],
  [1, 48],
  [1, 100],
];

/** NGINX's handler: 100 percentiles, of which the release takes 65 % (its comment: for 8 processes; 64 % for 4). */
export const NGINX: StageTime = {
  percentiles: NGINX_PERCENTILES.map(([n, us]) => (n === 1 ? `${us}us` : [n, `${us}us`])),
  scale: 0.65,
};

/** Share of NGINX's time that scales with the frequency: of requests, and of responses from the services behind it. */
export const NGINX_FREQUENCY_SHARE = { first: 0.4, again: 1 };

/** Network stack of the release where the folder has none: send_local, send_remote, receive_local, receive_remote. */
export const NETWORK_MEANS = ['1500ns', '1us', '1500ns', '4us'] as const;
export const NETWORK_PATHS = ['send_local', 'send_remote', 'receive_local', 'receive_remote'] as const;
