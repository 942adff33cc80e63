// Programs that would wait for ever, or lose a job, whatever the schedule: jobs finished that were never received or received
// on top of another, barriers with more parties than tasks come, events that nobody signals.

import { programHas, stepsNamed } from './check.js';
import type { Mistakes, Path } from './mistakes.js';
import type { Config, Step } from './schema.js';

type Workload = Config['workload'];

/** Whether a task serves a job at a point of its program; `maybe` after paths that differ. */
type Holding = 'no' | 'yes' | 'maybe';

const merged = (a: Holding, b: Holding): Holding => (a === b ? a : 'maybe');

/** Follows every path of a program; what is wrong on one of them is reported once. */
class JobFlow {
  readonly #workload: Workload;
  readonly #mistakes: Mistakes;
  readonly #said = new Set<string>();

  constructor(workload: Workload, mistakes: Mistakes) {
    this.#workload = workload;
    this.#mistakes = mistakes;
  }

  program(program: string | Step[], path: Path, holding: Holding): void {
    if (typeof program !== 'string') this.#steps(program, path, holding);
    else
      this.#steps(stepsNamed(this.#workload.programs, program), ['workload', 'programs', program], holding);
  }

  #say(path: Path, message: string): void {
    const key = JSON.stringify(path);
    if (this.#said.has(key)) return;
    this.#said.add(key);
    this.#mistakes.add(path, message);
  }

  /** Returns what the task holds behind the steps; undefined if it never gets there. */
  #steps(steps: readonly Step[], path: Path, before: Holding): Holding | undefined {
    let holding: Holding | undefined = before;
    for (const [i, step] of steps.entries()) {
      if (holding === undefined) return undefined;
      holding = this.#step(step, [...path, i], holding);
    }
    return holding;
  }

  #step(step: Step, path: Path, holding: Holding): Holding | undefined {
    if (step === 'exit') return undefined;
    if (step === 'finish') return this.#gives(path, holding, 'finish');
    if (typeof step === 'string') return holding;
    if ('send' in step) return this.#gives([...path, 'send'], holding, 'send');
    if ('receive' in step) {
      if (holding === 'yes') {
        this.#say([...path, 'receive'], 'the task still has a job; finish or send that before the next');
      }
      this.#steps(step.idle ?? [], [...path, 'idle'], holding);
      this.#steps(step.set_up ?? [], [...path, 'set_up'], holding);
      return 'yes';
    }
    if ('branch' in step) {
      const then = this.#steps(step.branch.then, [...path, 'branch', 'then'], holding);
      const otherwise = this.#steps(step.branch.else, [...path, 'branch', 'else'], holding);
      return then === undefined || otherwise === undefined ? (then ?? otherwise) : merged(then, otherwise);
    }
    if ('loop' in step) {
      const { times, do: body } = step.loop;
      const inner = [...path, 'loop', 'do'];
      const once = this.#steps(body, inner, holding);
      if (once === undefined || times === 1) return once;
      const again = once === holding ? once : this.#steps(body, inner, once);
      return times === 'forever' ? undefined : again;
    }
    return holding;
  }

  #gives(path: Path, holding: Holding, what: string): Holding {
    if (holding === 'no') this.#say(path, `there is no job to ${what}; the task must receive one before`);
    return 'no';
  }
}

function checkJobs(workload: Workload, mistakes: Mistakes): void {
  const flow = new JobFlow(workload, mistakes);
  workload.tasks.forEach(({ program }, i) => {
    flow.program(program, ['workload', 'tasks', i, 'program'], 'no');
  });
  workload.arrivals.forEach(({ spawn }, i) => {
    if (spawn !== undefined)
      flow.program(spawn.program, ['workload', 'arrivals', i, 'spawn', 'program'], 'yes');
  });
}

function checkBarriers(workload: Workload, mistakes: Mistakes): void {
  const { barriers, tasks, arrivals, programs } = workload;
  barriers.forEach(({ name, parties }, i) => {
    const comes = (step: Step) => typeof step !== 'string' && 'barrier' in step && step.barrier === name;
    // How many tasks come and go, or are forked, only the run shows.
    const unknown =
      arrivals.some(({ spawn }) => spawn !== undefined && programHas(spawn.program, programs, comes)) ||
      tasks.some(({ program }) => programHas(program, programs, (step) => isFork(step, workload, comes)));
    if (unknown) return;
    const coming = tasks.filter(({ program }) => programHas(program, programs, comes));
    const count = coming.reduce((sum, task) => sum + task.count, 0);
    if (count === 0 || count >= parties) return;
    mistakes.add(
      ['workload', 'barriers', i, 'parties'],
      `more than the ${count} ${count === 1 ? 'task that comes' : 'tasks that come'} to it: ` +
        coming.map((task) => `"${task.name}"${task.count === 1 ? '' : ` × ${task.count}`}`).join(', '),
    );
  });
}

function isFork(step: Step, workload: Workload, matches: (step: Step) => boolean): boolean {
  return (
    typeof step !== 'string' && 'fork' in step && programHas(step.fork.program, workload.programs, matches)
  );
}

/** A background task may poll for ever; what is to end must be told so. */
function checkEvents(workload: Workload, mistakes: Mistakes): void {
  const { events, tasks, arrivals, programs } = workload;
  const users = [
    ...tasks.map(({ program, background }) => ({ program, background })),
    ...arrivals.flatMap(({ spawn }) =>
      spawn === undefined ? [] : [{ program: spawn.program, background: false }],
    ),
  ];
  events.forEach(({ name }, i) => {
    const signals = (step: Step) => typeof step !== 'string' && 'signal' in step && step.signal === name;
    const polls = (step: Step) =>
      typeof step !== 'string' && 'spin_until' in step && step.spin_until === name;
    if (users.some(({ program }) => programHas(program, programs, signals))) return;
    if (!users.some(({ program, background }) => !background && programHas(program, programs, polls))) return;
    mistakes.add(['workload', 'events', i, 'name'], `nobody signals the event "${name}" that tasks wait for`);
  });
}

/** For a workload whose names all exist. */
export function checkWaits(workload: Workload, mistakes: Mistakes): void {
  checkJobs(workload, mistakes);
  checkBarriers(workload, mistakes);
  checkEvents(workload, mistakes);
}
