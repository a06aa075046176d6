import { messageOf } from '../../framework/error.ts';
import type { Clock, Millis, Random, Timer } from '../../framework/runtime.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';

/** A Lease of the API server. Its wall-clock times are written and never compared. */
export interface Lease {
  /** Changes with every write. */
  readonly version: string;
  /** Empty after the holder has released it. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredAtMs: Millis | undefined;
  readonly transitions: number;
}

export interface LeaseRecord extends Omit<Lease, 'version'> {
  readonly renewedAtMs: Millis;
}

/** The API server answers and refuses the request; other candidates may be accepted. */
export class LeaseRefusedError extends Error {
  override readonly name = 'LeaseRefused';
}

/**
 * Access to one Lease. Both methods reject with `LeaseRefusedError` where the server refuses, and
 * with any other error where it cannot be reached.
 */
export interface LeaseStore {
  /** Undefined where the Lease does not exist. */
  read(): Promise<Lease | undefined>;
  /** Replaces `before`, or creates the Lease. Undefined when it has changed since it was read. */
  write(record: LeaseRecord, before: Lease | undefined): Promise<Lease | undefined>;
}

export interface LeaderElectionOptions {
  readonly store: LeaseStore;
  /** Different from that of every other candidate. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing?: ElectionTiming | undefined;
  /** Called when this candidate becomes the leader or stops being it. */
  onChange(leading: boolean, holder: string | undefined): void;
  /** Called with why the lease cannot be acquired or renewed, once for each new reason. */
  onTrouble(sentence: string): void;
}

export interface ElectionTiming {
  /** A holder that has not written for this long may be replaced. Whole seconds. */
  readonly leaseMs: Millis;
  /** A leader that the server refuses for this long gives up, before another may begin. */
  readonly renewDeadlineMs: Millis;
  readonly retryMs: Millis;
}

/** The values of the reference and of Kubernetes' own controllers. */
const TIMING: ElectionTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
/** The most that is added to a wait, as a share of it, so that candidates differ. */
const JITTER = 0.2;
/** A request to the API server fails after this many turns. */
const ANSWER_TURNS = 2;

/**
 * Holds a Lease, or waits until it may be acquired. At most one of the candidates that reach the
 * API server leads. While the server is away, there are no elections and the leader continues; it
 * stops as soon as it sees another holder.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #timing: ElectionTiming;
  /** The last lease seen, and since when it has not changed. */
  #seen: { readonly lease: Lease; readonly since: Millis } | undefined;
  #leading = false;
  /**
   * Before the request that renewed the lease was sent. The server may have written at once, and
   * others count from then, however late the answer came.
   */
  #renewedAt: Millis = Number.NEGATIVE_INFINITY;
  #turn: Promise<void>;
  #timer: Timer | undefined;
  /** Ends the lead; undefined while the server is away. */
  #end: Timer | undefined;
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

  /** The holder of the lease as last seen; undefined where it is not known to have one. */
  get holder(): string | undefined {
    const holder = this.#seen?.lease.holder;
    return holder === '' ? undefined : holder;
  }

  /** Why the last turn failed; undefined after a successful one. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Stops leading and releases the lease for another candidate. Resolves also after a failure. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#turn;
    this.#end?.cancel();
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

  /** Tries to acquire or renew the lease. Returns whether this candidate holds the lease now. */
  async #hold(): Promise<boolean> {
    const { store, identity, clock } = this.#options;
    const readAt = clock.now();
    const lease = await this.#read();
    if (lease !== undefined && lease.holder !== identity && !this.#isFree(lease)) return false;
    const sentAt = clock.now();
    const written = await this.#answered(store.write(this.#record(lease), lease));
    if (written !== undefined) {
      this.#see(written);
      this.#renewedAt = sentAt;
    } else {
      // The lease has changed: perhaps another candidate took it, perhaps only a label changed.
      // That, too, lets the others wait anew.
      if ((await this.#read())?.holder !== identity) return false;
      this.#renewedAt = readAt;
    }
    this.#leadFor(this.#timing.leaseMs);
    // An answer that was read later than that does not say who holds the lease now.
    return clock.now() - this.#renewedAt < this.#timing.renewDeadlineMs;
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

  /** By our own clock since we saw the lease change: other clocks may be wrong. */
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
    const sentence = messageOf(error);
    if (sentence !== this.#trouble) this.#options.onTrouble(sentence);
    this.#trouble = sentence;
    if (error instanceof LeaseRefusedError) {
      this.#leadFor(this.#timing.renewDeadlineMs);
      return;
    }
    this.#end?.cancel();
    // While the API server is away, the holder cannot renew the lease: a lease that was not renewed
    // does not show that its holder has gone.
    if (this.#seen !== undefined) this.#see(this.#seen.lease);
  }

  /**
   * Since the lease was renewed last. A timer ends the lead, because the next answer may come
   * seconds later, or this process may stand still until others lead.
   */
  #leadFor(ms: Millis): void {
    const { clock } = this.#options;
    this.#end?.cancel();
    if (this.#renewedAt === Number.NEGATIVE_INFINITY) return;
    const leftMs = this.#renewedAt + ms - clock.now();
    this.#end = clock.setTimer(leftMs, () => this.#become(false));
  }

  #become(leading: boolean): void {
    const changed = !this.#stopped && leading !== this.#leading;
    this.#leading = leading;
    if (changed) this.#options.onChange(leading, this.holder);
  }

  #answered<T>(answer: Promise<T>): Promise<T> {
    const limitMs = ANSWER_TURNS * this.#timing.retryMs;
    return new Promise((resolve, reject) => {
      const deadline = new Deadline(this.#options.clock, limitMs, () =>
        reject(new Error(`the API server has not answered within ${limitMs} ms`)),
      );
      deadline.restart();
      answer.then(resolve, reject).finally(() => deadline.stop());
    });
  }
}
