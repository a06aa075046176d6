import type { Clock, Millis, Random, Timer } from '../../framework/runtime.ts';

/** A Lease as the API server has it. Times are of the wall clock, and only written, never compared. */
export interface Lease {
  /** Changes with every write. */
  readonly version: string;
  /** Empty where it was given back. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredAtMs: Millis | undefined;
  readonly transitions: number;
}

export interface LeaseRecord extends Omit<Lease, 'version'> {
  readonly renewedAtMs: Millis;
}

/** The API server is there and says no: others may be heard while we are not. */
export class LeaseRefusedError extends Error {
  override readonly name = 'LeaseRefused';
}

/** One Lease. Both reject with `LeaseRefused` where the server refuses, and with any other error where it cannot be asked. */
export interface LeaseStore {
  /** Undefined where there is none yet. */
  read(): Promise<Lease | undefined>;
  /** In place of `before`, or where there was none; undefined when somebody was quicker. */
  write(record: LeaseRecord, before: Lease | undefined): Promise<Lease | undefined>;
}

export interface LeaderElectionOptions {
  readonly store: LeaseStore;
  /** Unlike that of any other candidate. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing?: ElectionTiming | undefined;
  /** Called when it has changed whether this candidate leads. */
  onChange(leading: boolean, holder: string | undefined): void;
  /** Why the lease can not be had or kept; once for each reason. */
  onTrouble(sentence: string): void;
}

export interface ElectionTiming {
  /** A holder that has not written for so long may be replaced. Whole seconds. */
  readonly leaseMs: Millis;
  /** A leader that the server refuses for so long gives up, before others may begin. */
  readonly renewDeadlineMs: Millis;
  readonly retryMs: Millis;
}

/** Those of the reference, and of Kubernetes' own controllers. */
const TIMING: ElectionTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
/** The most that is added to a wait, as a share of it, so that candidates do not come at once. */
const JITTER = 0.2;
/** No request waits longer than two turns. */
const ANSWER_TURNS = 2;

/**
 * Holds a Lease, or waits until it may be taken: at most one candidate leads among those that reach the API server. While the
 * server is away nobody can be elected, and who leads goes on; as soon as it sees another holder, it leads no more.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #timing: ElectionTiming;
  /** What the lease was when it was last seen, and since when it has not changed. */
  #seen: { readonly lease: Lease; readonly since: Millis } | undefined;
  #leading = false;
  #renewedAt: Millis = Number.NEGATIVE_INFINITY;
  #turn: Promise<void>;
  #timer: Timer | undefined;
  #stopped = false;
  #trouble: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#turn = this.#take();
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Who holds the lease, as last seen; undefined where nobody is known to. */
  get holder(): string | undefined {
    const holder = this.#seen?.lease.holder;
    return holder === '' ? undefined : holder;
  }

  /** Why the last turn failed; undefined where it did not. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Leads no more, and gives the lease back, so that another need not wait. Resolves also where that fails. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#turn;
    const lease = this.#seen?.lease;
    if (!this.#leading || lease === undefined) return;
    this.#leading = false;
    const given: LeaseRecord = { ...this.#record(lease), holder: '', durationSeconds: 1 };
    await this.#answered(this.#options.store.write(given, lease)).catch(() => undefined);
  }

  async #take(): Promise<void> {
    const { clock, random } = this.#options;
    try {
      const leads = await this.#hold();
      this.#trouble = undefined;
      this.#become(leads);
    } catch (error) {
      this.#failed(error);
    }
    if (this.#stopped) return;
    const waitMs = this.#timing.retryMs * (1 + JITTER * random.next());
    this.#timer = clock.setTimer(waitMs, () => {
      this.#turn = this.#take();
    });
  }

  /** Whether the lease is ours after it. */
  async #hold(): Promise<boolean> {
    const { store, identity } = this.#options;
    const lease = await this.#read();
    if (lease !== undefined && lease.holder !== identity && !this.#isFree(lease)) return false;
    const written = await this.#answered(store.write(this.#record(lease), lease));
    // Somebody was quicker: perhaps another candidate, perhaps only a label.
    if (written === undefined) return (await this.#read())?.holder === identity;
    this.#see(written);
    this.#renewedAt = this.#options.clock.now();
    return true;
  }

  async #read(): Promise<Lease | undefined> {
    const lease = await this.#answered(this.#options.store.read());
    if (lease === undefined) this.#seen = undefined;
    else if (lease.version !== this.#seen?.lease.version) this.#see(lease);
    return lease;
  }

  #see(lease: Lease): void {
    this.#seen = { lease, since: this.#options.clock.now() };
  }

  /** By our own clock since we have seen it change: those of others may be wrong. */
  #isFree({ holder, durationSeconds }: Lease): boolean {
    if (holder === '' || this.#seen === undefined) return true;
    return this.#options.clock.now() - this.#seen.since >= durationSeconds * 1000;
  }

  #record(before: Lease | undefined): LeaseRecord {
    const { identity, clock } = this.#options;
    const renewedAtMs = clock.wallTime();
    const ours = before?.holder === identity;
    return {
      holder: identity,
      durationSeconds: Math.ceil(this.#timing.leaseMs / 1000),
      renewedAtMs,
      acquiredAtMs: ours ? (before.acquiredAtMs ?? renewedAtMs) : renewedAtMs,
      transitions: before === undefined ? 0 : before.transitions + (ours ? 0 : 1),
    };
  }

  #failed(error: unknown): void {
    const sentence = error instanceof Error ? error.message : String(error);
    if (sentence !== this.#trouble) this.#options.onTrouble(sentence);
    this.#trouble = sentence;
    if (error instanceof LeaseRefusedError) {
      const silentMs = this.#options.clock.now() - this.#renewedAt;
      if (silentMs >= this.#timing.renewDeadlineMs) this.#become(false);
      return;
    }
    // While the server is away its holder can not write: that it has not says nothing of it.
    if (this.#seen !== undefined) this.#see(this.#seen.lease);
  }

  #become(leading: boolean): void {
    if (this.#stopped || leading === this.#leading) {
      this.#leading = leading;
      return;
    }
    this.#leading = leading;
    this.#options.onChange(leading, this.holder);
  }

  #answered<T>(answer: Promise<T>): Promise<T> {
    const timeoutMs = ANSWER_TURNS * this.#timing.retryMs;
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.setTimer(timeoutMs, () =>
        reject(new Error(`the API server has not answered within ${timeoutMs} ms`)),
      );
      answer.then(resolve, reject).finally(() => timer.cancel());
    });
  }
}
