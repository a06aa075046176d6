import type { InferenceRequest } from '../../../framework/request.ts';
import type { Millis } from '../../../framework/runtime.ts';
import type { Served } from '../../discipline.ts';

export interface ServiceDecay {
  /** After so long half of the service is forgotten; 0 for never. */
  readonly halfLifeMs: Millis;
  /** What is left of it after a second, where there is no half-life. */
  readonly perSecond: number;
}

export interface ProgramsConfig extends ServiceDecay {
  /** A program without an end of a request for so long is forgotten; 0 for never. */
  readonly idleMs: Millis;
  readonly sweepMs: Millis;
}

/** One program: the requests with one fairness id, such as the turns of an agent. */
export interface Program {
  readonly id: string;
  placed: number;
  /** Requests that other replicas have placed. */
  elsewhere: number;
  inFlight: number;
  waitedMs: Millis;
  /** Prompt tokens and twice the output tokens, decayed until `servedAt`. */
  service: number;
  servedAt: Millis;
  lastEndAt: Millis;
  /** Whether any request has ended: before that, `lastEndAt` is when the program came. */
  hasEnded: boolean;
}

/** An output token costs about twice what a prompt token costs. */
const OUTPUT_TOKEN_WEIGHT = 2;

/** Programs that are known at most, beside those with requests in flight: the newest ones. */
const PROGRAMS_MAX = 20_000;

/** What the requests of each program have done and got. */
export class Programs {
  readonly #config: ProgramsConfig;
  readonly #programs = new Map<string, Program>();
  #sweptAt: Millis = Number.NEGATIVE_INFINITY;
  #fullAt = PROGRAMS_MAX;
  #dropped = 0;

  constructor(config: ProgramsConfig) {
    this.#config = config;
  }

  /** How many were forgotten so far: one that is kept elsewhere may be another object now. */
  get dropped(): number {
    return this.#dropped;
  }

  all(): Iterable<Program> {
    return this.#programs.values();
  }

  of(id: string, at: Millis): Program {
    const known = this.#programs.get(id);
    if (known !== undefined) return known;
    this.#sweep(at);
    if (this.#programs.size >= this.#fullAt) this.#dropOldest();
    const made: Program = {
      id,
      placed: 0,
      elsewhere: 0,
      inFlight: 0,
      waitedMs: 0,
      service: 0,
      servedAt: at,
      lastEndAt: at,
      hasEnded: false,
    };
    this.#programs.set(id, made);
    return made;
  }

  placed(id: string, waitedMs: Millis, at: Millis): void {
    const program = this.of(id, at);
    program.placed += 1;
    program.inFlight += 1;
    program.waitedMs += Math.max(0, waitedMs);
  }

  placedElsewhere({ fairnessId }: InferenceRequest, at: Millis): void {
    const program = this.of(fairnessId, at);
    program.elsewhere += 1;
    program.inFlight += 1;
  }

  ended({ fairnessId }: InferenceRequest, served: Served, at: Millis): void {
    const program = this.of(fairnessId, at);
    program.service =
      this.serviceAt(program, at) + served.promptTokens + OUTPUT_TOKEN_WEIGHT * served.outputTokens;
    program.servedAt = at;
    program.lastEndAt = at;
    program.hasEnded = true;
    program.inFlight = Math.max(0, program.inFlight - 1);
  }

  /** The service with what has decayed since taken off. */
  serviceAt({ service, servedAt }: Program, at: Millis): number {
    const { halfLifeMs, perSecond } = this.#config;
    if (service === 0) return 0;
    const elapsedMs = Math.max(0, at - servedAt);
    const left = halfLifeMs > 0 ? 0.5 ** (elapsedMs / halfLifeMs) : perSecond ** (elapsedMs / 1000);
    return service * left;
  }

  /** Jain's index of the mean waits: 1 where all are equal, or where there are less than two. */
  fairnessIndex(): number {
    let [sum, squares, count] = [0, 0, 0];
    for (const { placed, waitedMs } of this.#programs.values()) {
      if (placed === 0) continue;
      const mean = waitedMs / placed;
      sum += mean;
      squares += mean * mean;
      count += 1;
    }
    return count <= 1 || squares === 0 ? 1 : (sum * sum) / (count * squares);
  }

  /** Half of them: to look for one each time would cost too much. */
  #dropOldest(): void {
    const idle = [...this.#programs.values()].filter(({ inFlight }) => inFlight === 0);
    for (const { id } of idle.slice(0, PROGRAMS_MAX / 2)) this.#drop(id);
    this.#fullAt = Math.max(PROGRAMS_MAX, this.#programs.size + PROGRAMS_MAX / 2);
  }

  #sweep(at: Millis): void {
    const { idleMs, sweepMs } = this.#config;
    if (idleMs === 0 || at - this.#sweptAt < sweepMs) return;
    this.#sweptAt = at;
    for (const [id, { inFlight, lastEndAt }] of this.#programs) {
      if (inFlight === 0 && at - lastEndAt > idleMs) this.#drop(id);
    }
  }

  #drop(id: string): void {
    this.#programs.delete(id);
    this.#dropped += 1;
  }
}
