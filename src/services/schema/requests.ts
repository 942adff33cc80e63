// Kinds of requests: the nodes that each visits, with fan-out, fan-in and synchronous calls.

import * as z from 'zod';
import { count, section, show } from '../../config/schema/values.js';
import { label, named, probability } from './values.js';

const position = z.union([count(0, 10_000), label], {
  error: (issue) => `expected a stage of the path, by name or position, got ${show(issue.input)}`,
});

const node = section({
  service: label,
  path: label.optional().describe("A path of the service's model; default: drawn by their probabilities."),
  from: position.optional().describe('The stage to begin with; default: the first.'),
  to: position.optional().describe('The stage to end with; default: the last.'),
  next: z
    .array(label, { error: (issue) => `expected a list of nodes, got ${show(issue.input)}` })
    .min(1, { error: 'expected at least one node, or "client"' })
    .describe(
      'Each gets a copy of the job; a node that several lead to waits for all of them. `client`: back to the client.',
    ),
  sync: label
    .optional()
    .describe(
      'The node where the same thread goes on when the replies are there; it blocks if the stage does.',
    ),
  hold_connection: label
    .optional()
    .describe('No other job of the connection enters the service until this node has been left.'),
});

const request = section({
  probability: probability.optional().describe('Default: 1 for the only kind of requests.'),
  entry: label.optional().describe('Default: the first node.'),
  nodes: named('nodes', node),
});
export type Request = z.output<typeof request>;

export const requests = named('kinds of requests', request);
