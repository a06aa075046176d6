import { afterEach, beforeEach } from 'vitest';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import type { SidecarOptions } from '../../../src/sidecar/options/sidecar-options.ts';
import { type Sidecar, startSidecar } from '../../../src/sidecar/start-sidecar.ts';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';
import { sidecarOptions } from './sidecar-options.ts';

/** The servers and the clock of one test. */
export interface SidecarServers {
  readonly engine: ScriptedServer;
  readonly prefiller: ScriptedServer;
  readonly clock: SimulatedClock;
}

/** Sidecars between two scripted servers, which end in the reverse order of their start. */
export class SidecarBed {
  /** What the sidecars of the test have logged. */
  readonly logged: string[] = [];
  readonly stops: (() => Promise<void>)[] = [];
  #servers: SidecarServers | undefined;

  /** Call before each test. */
  async begin(): Promise<SidecarServers> {
    const engine = await startScriptedServer();
    const prefiller = await startScriptedServer();
    this.logged.length = 0;
    this.stops.push(engine.stop, prefiller.stop);
    this.#servers = { engine, prefiller, clock: new SimulatedClock() };
    return this.#servers;
  }

  /** Call after each test. */
  async end(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }

  get engine(): ScriptedServer {
    return this.#current.engine;
  }

  get prefiller(): ScriptedServer {
    return this.#current.prefiller;
  }

  get clock(): SimulatedClock {
    return this.#current.clock;
  }

  async started(overrides: Partial<SidecarOptions> = {}): Promise<Sidecar> {
    const { engine, clock } = this.#current;
    const log = (line: string): void => void this.logged.push(line);
    const options = { engine: engine.address, clock, log, ...overrides };
    const sidecar = await startSidecar(sidecarOptions(options));
    this.stops.unshift(() => sidecar.stop());
    return sidecar;
  }

  get #current(): SidecarServers {
    if (this.#servers === undefined) throw new Error('call begin() before the servers are used');
    return this.#servers;
  }
}

/** A bed that begins and ends with each test of the file. */
export function sidecarBed(): SidecarBed {
  const bed = new SidecarBed();
  beforeEach(async () => void (await bed.begin()));
  afterEach(() => bed.end());
  return bed;
}
