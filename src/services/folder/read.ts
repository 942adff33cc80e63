// A µqSim folder as a services model: the release's format, the one before it, and a fork's. Everything that is wrong with it is
// found at once, with file and JSON path.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mistakesOf } from '../../config/mistakes.js';
import { checkServices } from '../check/index.js';
import type { Finding } from '../findings.js';
import { type Services, type ServicesInput, servicesSchema } from '../schema.js';
import { PACKET } from './builtin.js';
import { edgesOf, linksOf, machinesOf, type ServiceNames, servicesOf, type Tell } from './deployment.js';
import { FolderDocument } from './document.js';
import { type FolderModels, isOldFormat, modelSources, readModels, STACK } from './model-files.js';
import { duration } from './models.js';
import { Names } from './names.js';
import { Origins } from './origins.js';
import { requestsOf } from './requests.js';
import {
  type ClientFile,
  clientShape,
  type Graph,
  graphShape,
  type LinkedMachines,
  type Machine,
  machinesShape,
  type Paths,
  pathShape,
} from './shapes.js';

export type FolderFormat = 'release' | 'old' | 'fork';

export interface FolderModel {
  format: FolderFormat;
  /** Undefined if the findings have errors. */
  services?: Services;
  /** What a services file would say. */
  input?: ServicesInput;
  findings: Finding[];
}

/** Load of a folder without client.json. */
const DEFAULT_CLIENT: ClientFile = { monitor_interval_sec: 1, epoch_end_sec: [10], epoch_qps: [1000] };

class FolderReader {
  readonly findings: Finding[] = [];
  readonly #folder: string;
  readonly #origins = new Origins();

  constructor(folder: string) {
    this.#folder = folder;
  }

  #open(name: string): FolderDocument | undefined {
    const file = join(this.#folder, name);
    if (existsSync(file)) return FolderDocument.read(file, this.findings);
    this.findings.push({ severity: 'error', path: [], code: 'missing-file', message: 'missing', file });
    return undefined;
  }

  /** Says about the folder what was found in the services model. */
  #translate({ severity, path, code, message }: Finding): void {
    const source = this.#origins.sourceOf(path);
    if (source === undefined) {
      this.findings.push({ severity, path, code, message, file: this.#folder });
      return;
    }
    // What follows from a mistake that has been told is none of its own.
    if (severity === 'error' && source.document.hasTold(source.path)) return;
    source.document.add(severity, source.path, code, message);
  }

  read(): FolderModel {
    const machinesDocument = this.#open('machines.json');
    const graphDocument = this.#open('graph.json');
    const pathDocument = this.#open('path.json');
    const sources = modelSources(this.#folder, this.findings);
    // The format before the release had no frequencies.
    const old = isOldFormat(sources);
    const linked = machinesDocument !== undefined && !Array.isArray(machinesDocument.value);
    const format = old ? 'old' : linked ? 'fork' : 'release';
    const units = { old };
    const machines = machinesDocument?.fit(machinesShape(machinesDocument.value, units)) as
      | Machine[]
      | LinkedMachines
      | undefined;
    const graph: Graph | undefined = graphDocument?.fit(graphShape(units, linked));
    const paths: Paths | undefined = pathDocument?.fit(pathShape(units));
    const models = readModels(this.#folder, sources, old, this.#origins, this.findings);
    const client = this.#client(old);
    if (machines !== undefined && graph !== undefined && paths !== undefined && models.complete) {
      const input = this.#combine(
        { machines, graph, paths, client: client.file, old },
        { machines: machinesDocument!, graph: graphDocument!, paths: pathDocument!, client: client.document },
        models,
      );
      const services = this.#check(input);
      if (!this.findings.some(({ severity }) => severity === 'error'))
        return { format, services, input, findings: this.findings };
    }
    return { format, findings: this.findings };
  }

  /** client.json; the old format has none, since its client was told on the command line. */
  #client(old: boolean): { file: ClientFile; document?: FolderDocument } {
    const name = join(this.#folder, 'client.json');
    if (!existsSync(name)) {
      this.findings.push({
        severity: old ? 'warning' : 'error',
        path: [],
        code: 'missing-file',
        message: old ? 'missing; 1000 requests/s for 10 s are used' : 'missing',
        file: name,
      });
      return { file: DEFAULT_CLIENT };
    }
    const document = FolderDocument.read(name, this.findings);
    return { file: document?.fit(clientShape) ?? DEFAULT_CLIENT, document };
  }

  #combine(
    files: {
      machines: Machine[] | LinkedMachines;
      graph: Graph;
      paths: Paths;
      client: ClientFile;
      old: boolean;
    },
    documents: {
      machines: FolderDocument;
      graph: FolderDocument;
      paths: FolderDocument;
      client?: FolderDocument;
    },
    models: FolderModels,
  ): ServicesInput {
    const { graph, paths, old, client } = files;
    const telling =
      (document: FolderDocument, severity: 'error' | 'warning' = 'error'): Tell =>
      (path, code, message) =>
        document.add(severity, path, code, message);
    const names: ServiceNames = { instance: new Names(), service: serviceNames() };
    const linked = Array.isArray(files.machines) ? undefined : files.machines;
    const list = Array.isArray(files.machines) ? files.machines : files.machines.machines;
    const machines = machinesOf(
      list,
      linked === undefined ? [] : ['machines'],
      new Names(),
      this.#origins.of(documents.machines),
      telling(documents.machines),
    );
    const origin = this.#origins.of(documents.graph);
    const tell = telling(documents.graph);
    const services = servicesOf(graph, models.infos, machines, names, origin, tell);
    const pathsOf = (service: string) => {
      const model = services[service]?.model;
      return model === undefined
        ? undefined
        : models.paths.get(model)?.map((name) => ({ name, stages: models.inputs[model].paths[name].stages }));
    };
    const requests = requestsOf(paths, {
      old,
      names,
      pathsOf,
      origin: this.#origins.of(documents.paths),
      tell: telling(documents.paths),
      warn: telling(documents.paths, 'warning'),
    });
    if (documents.client !== undefined) this.#origins.of(documents.client)(['client'], []);
    origin(['network'], ['net_latency']);
    const network =
      linked === undefined
        ? { latency: duration(graph.net_latency ?? 0, old) }
        : linksOf(linked, machines, old, this.#origins.of(documents.machines), telling(documents.machines));
    return {
      machines: machines.input,
      network: { stack: models.infos.get(STACK)?.name, ...network },
      models: models.inputs,
      services,
      edges: edgesOf(graph, names.instance, origin, tell),
      requests,
      client: clientOf(client),
    };
  }

  /** The model, if nothing is wrong with it. */
  #check(input: ServicesInput): Services | undefined {
    const parsed = servicesSchema.safeParse(input);
    if (!parsed.success) {
      for (const { path, message } of mistakesOf(parsed.error, input).list) {
        this.#translate({ severity: 'error', path, code: 'bad-value', message });
      }
      return undefined;
    }
    for (const finding of checkServices(parsed.data).list) this.#translate(finding);
    return parsed.data;
  }
}

/** One name for each pair of service and domain. */
function serviceNames(): (name: string, domain: string) => string {
  const names = new Names();
  return (name, domain) => names.of(domain === '' ? name : `${name}.${domain}`);
}

/** The client's load; the number of requests is bounded as in the release. */
function clientOf({ epoch_end_sec: ends, epoch_qps: rates }: ClientFile): ServicesInput['client'] {
  const requests = ends.reduce((sum, end, i) => sum + Math.trunc((end - (ends[i - 1] ?? 0)) * rates[i]), 0);
  return {
    load: ends.map((end, i) => ({ until: seconds(end), rate: `${rates[i]}/s` })),
    requests: Math.max(1, requests),
    value_size: PACKET,
  };
}

/** A time in s, to the ns as the release takes it. */
function seconds(value: number): string {
  return duration(Math.trunc(value * 1e9), false);
}

/** Reads a folder; never throws for what is in it. */
export function readFolder(folder: string): FolderModel {
  return new FolderReader(folder).read();
}
