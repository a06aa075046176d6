import type { Clock, Millis, Timer } from '../../src/framework/runtime.ts';
import type { KvFabric, KvPort } from './kv-fabric.ts';

/** Blocks that no decode leg fetches are held so long: VLLM_NIXL_ABORT_REQUEST_TIMEOUT. */
const HOLD_MS: Millis = 480_000;
/** A decode leg waits so long for its prefill leg, then fails: SGLang's timeout of its bootstrap. */
const WAIT_MS: Millis = 300_000;

/** A decode leg that needs KV. Either `ready` or `fail` is called, once. */
interface KvPull {
  readonly tokens: number;
  /** The receiving server; undefined if it is in another process. */
  readonly to: KvPort | undefined;
  readonly ready: () => void;
  readonly fail: () => void;
}

type Waiting = { readonly pull: KvPull; readonly timer: Timer };

interface Prefill {
  readonly port: KvPort;
  /** Releases the blocks; undefined while they are being computed. */
  release: (() => void) | undefined;
  timer: Timer | undefined;
  transfers: number;
}

/** Joins the two legs of requests by a key. Blocks of a prefill are held at most for `HOLD_MS`. */
export class KvExchange {
  readonly #clock: Clock;
  /** The network of the pool. */
  readonly fabric: KvFabric;
  readonly #prefills = new Map<string, Prefill>();
  /** Decode legs whose KV is not complete yet, by key. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(clock: Clock, fabric: KvFabric) {
    this.#clock = clock;
    this.fabric = fabric;
  }

  /** Starts a prefill leg on the server with this port. It replaces an earlier one with its key. */
  begin(key: string, port: KvPort): void {
    this.drop(key);
    this.#prefills.set(key, { port, release: undefined, timer: undefined, transfers: 0 });
  }

  /** Completes a prefill. Its blocks are held until the exchange calls `release`. */
  complete(key: string, release: () => void): void {
    const prefill = this.#prefills.get(key);
    if (prefill === undefined || prefill.release !== undefined) {
      release();
      return;
    }
    prefill.release = release;
    prefill.timer = this.#clock.setTimer(HOLD_MS, () => this.drop(key));
    for (const { pull } of this.#takeWaiting(key)) this.#send(key, prefill, pull);
  }

  /** Ends a prefill that is not complete: its decode legs fail. Else it does nothing. */
  abandon(key: string): void {
    if (this.#prefills.get(key)?.release !== undefined) return;
    this.#prefills.delete(key);
    for (const { pull } of this.#takeWaiting(key)) pull.fail();
  }

  knows(key: string): boolean {
    return this.#prefills.has(key);
  }

  /** Transfers KV when it is complete. If the key is not known, `patient` waits, else it fails. */
  fetch(key: string, pull: KvPull, { patient }: { readonly patient: boolean }): void {
    const prefill = this.#prefills.get(key);
    if (prefill?.release !== undefined) this.#send(key, prefill, pull);
    else if (prefill !== undefined || patient) this.#wait(key, pull);
    else pull.fail();
  }

  heldBy(port: KvPort): number {
    let held = 0;
    for (const prefill of this.#prefills.values()) {
      if (prefill.port === port && prefill.release !== undefined) held += 1;
    }
    return held;
  }

  /** Gives the blocks of a prefill back, also where a decode leg has not fetched them yet. */
  drop(key: string): void {
    const prefill = this.#prefills.get(key);
    if (prefill === undefined) return;
    this.#prefills.delete(key);
    prefill.timer?.cancel();
    prefill.release?.();
  }

  /** Loses the finished prefills of a server that has crashed. */
  forget(port: KvPort): void {
    for (const [key, prefill] of this.#prefills) {
      if (prefill.port === port && prefill.release !== undefined) this.drop(key);
    }
  }

  #wait(key: string, pull: KvPull): void {
    const waiting = this.#waiting.get(key) ?? new Set<Waiting>();
    this.#waiting.set(key, waiting);
    const timer = this.#clock.setTimer(WAIT_MS, () => {
      waiting.delete(entry);
      if (waiting.size === 0) this.#waiting.delete(key);
      pull.fail();
    });
    const entry: Waiting = { pull, timer };
    waiting.add(entry);
  }

  #takeWaiting(key: string): Iterable<Waiting> {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const { timer } of waiting) timer.cancel();
    return waiting;
  }

  #send(key: string, prefill: Prefill, { tokens, to, ready, fail }: KvPull): void {
    prefill.timer?.cancel();
    prefill.transfers += 1;
    this.fabric.send({ tokens, from: prefill.port, to }, () => {
      prefill.transfers -= 1;
      if (this.#prefills.get(key) !== prefill) {
        fail();
        return;
      }
      if (prefill.transfers === 0) this.drop(key);
      ready();
    });
  }
}
