// Structured control flow from a graph of basic blocks, by its dominator tree: Norman Ramsey, Beyond Relooper, ICFP 2022.
// A block that several edges meet in becomes the code behind a `block`, a loop's header the start of a `loop`, any
// other block is put where its only predecessor jumps to it. A graph with an irreducible loop becomes one loop around a
// jump table.

/** What a block ends with; targets are block numbers. */
export type Terminator =
  | { kind: 'jump'; target: number }
  /** `taken` if the condition that the block leaves on the stack is not 0. */
  | { kind: 'branch'; taken: number; otherwise: number }
  /** The block's own code returns or traps. */
  | { kind: 'exit' };

/** What is emitted for a graph, in order. Depths count enclosing constructs from the inside. */
export interface Emitter {
  /** Code of a block up to its terminator. */
  body(block: number): void;
  open(construct: 'block' | 'loop' | 'if'): void;
  otherwise(): void;
  close(): void;
  br(depth: number): void;
  brIf(depth: number): void;
  /** Marks a place that is never reached. */
  unreachable(): void;
  /** Before an edge that goes back is taken: what bounds loops. */
  backEdge(from: number): void;
  /** In a dispatch loop: choose the next block, jump to the chosen one (depths by block number). */
  choose(block: number): void;
  dispatch(depths: number[]): void;
}

/** Deeper dominator trees, and so nestings, than this are left to the dispatch loop. */
const NESTING_LIMIT = 5000;

export function successors(end: Terminator): number[] {
  if (end.kind === 'jump') return [end.target];
  return end.kind === 'branch' ? [end.taken, end.otherwise] : [];
}

/** Blocks reachable from block 0 in reverse postorder. */
export function reversePostorder(ends: Terminator[]): number[] {
  const order: number[] = [];
  const seen = new Uint8Array(ends.length);
  const stack: { block: number; rest: number[] }[] = [{ block: 0, rest: successors(ends[0]) }];
  seen[0] = 1;
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const next = top.rest.pop();
    if (next === undefined) {
      order.push(top.block);
      stack.pop();
    } else if (!seen[next]) {
      seen[next] = 1;
      stack.push({ block: next, rest: successors(ends[next]) });
    }
  }
  return order.reverse();
}

/** Graph with the facts that the structure follows from; arrays are by block number. */
export interface Flow {
  ends: Terminator[];
  order: number[];
  /** Position in `order`; -1 for what is not reachable. */
  position: Int32Array;
  /** Immediate dominator; the entry's is itself. */
  dominator: Int32Array;
  depth: Int32Array;
  predecessors: number[][];
  reducible: boolean;
}

/** Immediate dominators by iteration: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm, 2001. */
function dominators(order: number[], position: Int32Array, predecessors: number[][]): Int32Array {
  const dominator = new Int32Array(position.length).fill(-1);
  dominator[0] = 0;
  const meet = (a: number, b: number): number => {
    let [x, y] = [a, b];
    while (x !== y) {
      while (position[x] > position[y]) x = dominator[x];
      while (position[y] > position[x]) y = dominator[y];
    }
    return x;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of order) {
      if (block === 0) continue;
      let found = -1;
      for (const from of predecessors[block]) {
        if (dominator[from] >= 0) found = found < 0 ? from : meet(found, from);
      }
      if (dominator[block] !== found) {
        dominator[block] = found;
        changed = true;
      }
    }
  }
  return dominator;
}

export function analyse(ends: Terminator[]): Flow {
  const order = reversePostorder(ends);
  const position = new Int32Array(ends.length).fill(-1);
  order.forEach((block, i) => {
    position[block] = i;
  });
  const predecessors: number[][] = ends.map(() => []);
  for (const block of order) {
    for (const next of new Set(successors(ends[block]))) predecessors[next].push(block);
  }
  const dominator = dominators(order, position, predecessors);
  const depth = new Int32Array(ends.length);
  for (const block of order) if (block !== 0) depth[block] = depth[dominator[block]] + 1;
  const dominates = (a: number, b: number): boolean => {
    let x = b;
    while (depth[x] > depth[a]) x = dominator[x];
    return x === a;
  };
  const reducible = order.every((block) =>
    successors(ends[block]).every((next) => position[next] > position[block] || dominates(next, block)),
  );
  return { ends, order, position, dominator, depth, predecessors, reducible };
}

/** Emits the graph. Block 0 is the entry. */
export function structure(ends: Terminator[], emit: Emitter): void {
  const flow = analyse(ends);
  const nested = flow.reducible && flow.order.every((block) => flow.depth[block] < NESTING_LIMIT);
  if (nested) emitTree(flow, emit);
  else emitDispatch(flow, emit);
  emit.unreachable();
}

/** Construct around the current place: the block that a branch to it continues at. */
type Label = number | 'if';

function emitTree(flow: Flow, emit: Emitter): void {
  const { ends, order, position, dominator, predecessors } = flow;
  const back = (from: number, to: number): boolean => position[to] <= position[from];
  const isHeader = (block: number): boolean => predecessors[block].some((from) => back(from, block));
  const isMerge = (block: number): boolean =>
    block !== 0 && predecessors[block].filter((from) => !back(from, block)).length > 1;
  // Both targets of a branch may be the same block: then it is entered twice from one predecessor.
  const twice = (block: number): boolean => {
    const end = ends[predecessors[block]?.[0]];
    return block !== 0 && end?.kind === 'branch' && end.taken === end.otherwise;
  };
  const merges = new Uint8Array(ends.length);
  /** By block: the merge blocks that it dominates immediately, the last in the order first. */
  const below: number[][] = ends.map(() => []);
  for (const block of [...order].reverse()) {
    if (!isMerge(block) && !twice(block)) continue;
    merges[block] = 1;
    below[dominator[block]].push(block);
  }

  const labels: Label[] = [];
  const work: (() => void)[] = [];
  /** Later first: work is a stack. */
  const then = (...steps: (() => void)[]): void => {
    for (const step of steps.reverse()) work.push(step);
  };
  const open = (construct: 'block' | 'loop' | 'if', label: Label): void => {
    labels.push(label);
    emit.open(construct);
  };
  const close = (): void => {
    labels.pop();
    emit.close();
  };
  const depthOf = (block: number): number => labels.length - 1 - labels.lastIndexOf(block);
  const isJump = (from: number, to: number): boolean => back(from, to) || merges[to] === 1;

  const goTo = (from: number, to: number): void => {
    if (!isJump(from, to)) {
      then(() => tree(to));
      return;
    }
    if (back(from, to)) emit.backEdge(from);
    emit.br(depthOf(to));
  };
  const tree = (block: number): void => {
    if (isHeader(block)) {
      open('loop', block);
      then(() => within(block, 0), close);
    } else within(block, 0);
  };
  const within = (block: number, index: number): void => {
    if (index < below[block].length) {
      const merge = below[block][index];
      open('block', merge);
      then(
        () => within(block, index + 1),
        close,
        () => tree(merge),
      );
      return;
    }
    emit.body(block);
    const end = ends[block];
    if (end.kind === 'jump') goTo(block, end.target);
    if (end.kind !== 'branch') return;
    const { taken, otherwise } = end;
    if (isJump(block, taken) && !back(block, taken)) {
      emit.brIf(depthOf(taken));
      goTo(block, otherwise);
      return;
    }
    open('if', 'if');
    then(
      () => goTo(block, taken),
      () => emit.otherwise(),
      () => goTo(block, otherwise),
      close,
      () => emit.unreachable(),
    );
  };
  tree(0);
  for (let step = work.pop(); step; step = work.pop()) step();
}

function emitDispatch(flow: Flow, emit: Emitter): void {
  const { ends, order, position } = flow;
  const n = order.length;
  // Inside, block order[i] stands behind i + 1 closed blocks, so the loop is n - 1 - i constructs further out.
  emit.open('loop');
  for (let i = 0; i < n; i++) emit.open('block');
  const depths = ends.map(() => 0);
  order.forEach((block, i) => {
    depths[block] = i;
  });
  emit.dispatch(depths);
  order.forEach((block, i) => {
    emit.close();
    emit.body(block);
    const end = ends[block];
    const goTo = (to: number, nested: number): void => {
      if (position[to] <= i) emit.backEdge(block);
      emit.choose(to);
      emit.br(n - 1 - i + nested);
    };
    if (end.kind === 'jump') goTo(end.target, 0);
    if (end.kind === 'branch') {
      emit.open('if');
      goTo(end.taken, 1);
      emit.otherwise();
      goTo(end.otherwise, 1);
      emit.close();
      emit.unreachable();
    }
  });
  emit.close();
}
