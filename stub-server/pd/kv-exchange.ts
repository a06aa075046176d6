import type { Clock, Millis, Timer } from '../../src/framework/runtime.ts';
import type { KvFabric, KvPort } from './kv-fabric.ts';

/** As VLLM_NIXL_ABORT_REQUEST_TIMEOUT: blocks nobody has come for are given up. */
const HOLD_MS: Millis = 480_000;
/** As SGLang's for its bootstrap: a decode leg whose prefill leg never comes fails. */
const WAIT_MS: Millis = 300_000;

/** A decode leg that wants KV. One of the two is called, once. */
export interface KvWanted {
  readonly tokens: number;
  /** Where it goes; undefined is another process. */
  readonly to: KvPort | undefined;
  readonly ready: () => void;
  readonly fail: () => void;
}

interface Waiting {
  readonly wanted: KvWanted;
  readonly timer: Timer;
}

interface Prefill {
  readonly port: KvPort;
  /** Gives the blocks back; undefined while they are still being computed. */
  release: (() => void) | undefined;
  timer: Timer | undefined;
  transfers: number;
}

/**
 * Where the two legs of disaggregated requests meet, in whichever order they come, under a key that both know. The
 * prefill side's blocks stay held until they have been pulled or until nobody has come for them in time.
 */
export class KvExchange {
  readonly #clock: Clock;
  readonly #fabric: KvFabric;
  readonly #prefills = new Map<string, Prefill>();
  /** Decode legs whose KV is not there yet. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(clock: Clock, fabric: KvFabric) {
    this.#clock = clock;
    this.#fabric = fabric;
  }

  /** A prefill leg has come to the server with this port. It takes the place of an earlier one of its key. */
  begin(key: string, port: KvPort): void {
    this.#drop(key);
    this.#prefills.set(key, { port, release: undefined, timer: undefined, transfers: 0 });
  }

  /** Its KV is complete, and held until `release` is called. */
  complete(key: string, release: () => void): void {
    const prefill = this.#prefills.get(key);
    if (prefill === undefined || prefill.release !== undefined) {
      release();
      return;
    }
    prefill.release = release;
    prefill.timer = this.#clock.setTimer(HOLD_MS, () => this.#drop(key));
    for (const { wanted } of this.#takeWaiting(key)) this.#send(key, prefill, wanted);
  }

  /** It ended before it was complete: whoever waits for it fails. Does nothing afterwards. */
  abandon(key: string): void {
    if (this.#prefills.get(key)?.release !== undefined) return;
    this.#prefills.delete(key);
    for (const { wanted } of this.#takeWaiting(key)) wanted.fail();
  }

  knows(key: string): boolean {
    return this.#prefills.has(key);
  }

  /** Sends KV as soon as it is there. Where no such prefill leg is known, only the `patient` wait for it. */
  fetch(key: string, wanted: KvWanted, { patient }: { readonly patient: boolean }): void {
    const prefill = this.#prefills.get(key);
    if (prefill?.release !== undefined) this.#send(key, prefill, wanted);
    else if (prefill !== undefined || patient) this.#wait(key, wanted);
    else wanted.fail();
  }

  /** Finished prefills whose blocks this server holds. */
  heldBy(port: KvPort): number {
    let held = 0;
    for (const prefill of this.#prefills.values()) {
      if (prefill.port === port && prefill.release !== undefined) held += 1;
    }
    return held;
  }

  /** The server has crashed: what it held is lost. */
  forget(port: KvPort): void {
    for (const [key, prefill] of this.#prefills) {
      if (prefill.port === port && prefill.release !== undefined) this.#drop(key);
    }
  }

  #wait(key: string, wanted: KvWanted): void {
    const waiting = this.#waiting.get(key) ?? new Set<Waiting>();
    this.#waiting.set(key, waiting);
    const timer = this.#clock.setTimer(WAIT_MS, () => {
      waiting.delete(entry);
      if (waiting.size === 0) this.#waiting.delete(key);
      wanted.fail();
    });
    const entry: Waiting = { wanted, timer };
    waiting.add(entry);
  }

  #takeWaiting(key: string): Iterable<Waiting> {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const { timer } of waiting) timer.cancel();
    return waiting;
  }

  #send(key: string, prefill: Prefill, { tokens, to, ready, fail }: KvWanted): void {
    prefill.timer?.cancel();
    prefill.transfers += 1;
    this.#fabric.send({ tokens, from: prefill.port, to }, () => {
      prefill.transfers -= 1;
      if (this.#prefills.get(key) !== prefill) {
        fail();
        return;
      }
      if (prefill.transfers === 0) this.#drop(key);
      ready();
    });
  }

  #drop(key: string): void {
    const prefill = this.#prefills.get(key);
    if (prefill === undefined) return;
    this.#prefills.delete(key);
    prefill.timer?.cancel();
    prefill.release?.();
  }
}
