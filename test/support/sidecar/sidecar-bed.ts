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

  async started(overrides: Partial<SidecarOptions> = {}): Promise<Sidecar> {
    if (this.#servers === undefined) throw new Error('call begin() before a sidecar is started');
    const { engine, clock } = this.#servers;
    const log = (line: string): void => void this.logged.push(line);
    const options = { engine: engine.address, clock, log, ...overrides };
    const sidecar = await startSidecar(sidecarOptions(options));
    this.stops.unshift(() => sidecar.stop());
    return sidecar;
  }
}
