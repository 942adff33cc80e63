// From the sections of the model image to the records of the services engine. The host has checked the references.

import {
  NONE,
  SECTION_SV_CLIENT,
  SECTION_SV_EPOCHS,
  SECTION_SV_INSTANCES,
  SECTION_SV_LINKS,
  SECTION_SV_MACHINES,
  SECTION_SV_ROUTES,
  SECTION_SV_WIRES,
  SVC_TIERS,
  SVI_STRIDE,
  SVI_SWITCH_NS,
  SVI_TEMPLATE,
  SVM_LINK_COUNT,
  SVM_LINKS,
  SVM_NETWORK,
  SVM_STRIDE,
} from '../abi';
import { failure } from '../core/failure';
import { section, sectionRows } from '../model';
import { callsReset } from './call';
import { clientInit, clientReset } from './client';
import { coresReset, schedulesThreads } from './core';
import { loadCores, loadInstance, makeTask } from './loadinstances';
import { clientEdgeCount, clientEdges, loadEdges, loadReach, loadRoutes } from './loadroutes';
import { loadStages, loadTimings } from './loadstages';
import { meterReset } from './meter';
import { monitorInit, monitorReset } from './monitor';
import { networkInit } from './network';
import {
  INSTANCE_BYTES,
  MACHINE_BYTES,
  MACHINE_INDEX,
  MACHINE_LINK_COUNT,
  MACHINE_LINKS,
  MACHINE_NETWORK,
  NODE_BYTES,
  TIMED_CLIENT,
  TIMED_MONITOR,
  TIMED_WIRE,
  WIRE_BYTES,
  WIRE_LATENCY,
  WIRE_TASK,
} from './records';
import { requestsInit } from './request';
import { allocate, instanceCount, instances, machines, nodes, tablesInit } from './tables';

export function servicesInit(): void {
  clientReset();
  callsReset();
  coresReset();
  meterReset();
  if (!tablesInit()) return;
  const from = section(SECTION_SV_INSTANCES);
  loadTimings();
  loadStages();
  monitorReset(load<u64>(section(SECTION_SV_CLIENT) + SVC_TIERS * 8) as u32);
  loadMachines();
  loadCores(from);
  let scheduled = false;
  let switchesCost = false;
  for (let i: u32 = 0; i < instanceCount && failure == 0; i++) {
    const row = from + (i as usize) * SVI_STRIDE;
    loadInstance(instances + i * (INSTANCE_BYTES as u32), row, i);
    if (load<u32>(row, SVI_TEMPLATE) != NONE) scheduled = true;
    if (load<u32>(row, SVI_SWITCH_NS) != 0) switchesCost = true;
  }
  if (scheduled) schedulesThreads(switchesCost);
  loadRoutes();
  loadEdges();
  loadReach();
  loadWires();
  loadClient();
}

function loadMachines(): void {
  const links = section(SECTION_SV_LINKS);
  const from = section(SECTION_SV_MACHINES);
  const n = sectionRows();
  for (let i: u32 = 0; i < n; i++) {
    const row = from + (i as usize) * SVM_STRIDE;
    const machine = machines + i * (MACHINE_BYTES as u32);
    const network = load<u32>(row, SVM_NETWORK);
    const count = load<u32>(row, SVM_LINK_COUNT);
    store<u32>(machine, network == NONE ? 0 : instances + network * (INSTANCE_BYTES as u32), MACHINE_NETWORK);
    store<u32>(machine, count, MACHINE_LINK_COUNT);
    store<u32>(machine, i, MACHINE_INDEX);
    if (count == 0) continue;
    const list = allocate(count, 8);
    store<u32>(machine, list, MACHINE_LINKS);
    for (let k: u32 = 0; k < count; k++) {
      const link = links + ((load<u32>(row, SVM_LINKS) + k) as usize) * 16;
      store<u32>(list + (k << 3), machines + load<u32>(link, 4) * (MACHINE_BYTES as u32));
      // The wire's index, until loadWires() knows the address.
      store<u32>(list + (k << 3), load<u32>(link, 8), 4);
    }
  }
}

function loadWires(): void {
  const from = section(SECTION_SV_WIRES);
  const n = sectionRows();
  const wires = allocate(n, WIRE_BYTES);
  for (let i: u32 = 0; i < n; i++) {
    const wire = wires + i * (WIRE_BYTES as u32);
    store<u32>(wire, TIMED_WIRE);
    store<u32>(wire, makeTask(wire, 0, 0), WIRE_TASK);
    store<u64>(wire, load<u64>(from + ((i as usize) << 3)), WIRE_LATENCY);
  }
  networkInit(wires);
  section(SECTION_SV_MACHINES);
  for (let i: u32 = 0, count = sectionRows(); i < count; i++) {
    const machine = machines + i * (MACHINE_BYTES as u32);
    for (let k: u32 = 0; k < load<u32>(machine, MACHINE_LINK_COUNT); k++) {
      const link = load<u32>(machine, MACHINE_LINKS) + (k << 3);
      store<u32>(link, wires + load<u32>(link, 4) * (WIRE_BYTES as u32), 4);
    }
  }
}

function loadClient(): void {
  const from = section(SECTION_SV_ROUTES);
  const kinds = sectionRows();
  const routes = allocate(kinds, 16);
  for (let i: u32 = 0; i < kinds; i++) {
    store<u32>(routes + (i << 4), nodes + load<u32>(from + ((i as usize) << 4)) * (NODE_BYTES as u32));
    store<u32>(routes + (i << 4), load<u32>(from + ((i as usize) << 4), 4), 4);
    store<u64>(routes + (i << 4), load<u64>(from + ((i as usize) << 4), 8), 8);
  }
  const client = allocate(1, 16);
  store<u32>(client, TIMED_CLIENT);
  const task = makeTask(client, 0, 0);
  const epochs = section(SECTION_SV_EPOCHS);
  const epochCount = sectionRows();
  if (failure != 0) return;
  requestsInit(section(SECTION_SV_CLIENT), routes, kinds, clientEdges, clientEdgeCount);
  clientInit(section(SECTION_SV_CLIENT), task, epochs, epochCount);
  const monitor = allocate(1, 16);
  store<u32>(monitor, TIMED_MONITOR);
  const monitorTask = makeTask(monitor, 0, 0);
  if (failure == 0) monitorInit(section(SECTION_SV_CLIENT), monitorTask);
}
