/**
 * vLLM V1's scheduler, written directly from its description, one sequence and one block at a time.
 * It shares nothing with the engine under test but the load of a step.
 */
export interface NaiveRequest {
  readonly arrivalMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly blockHashes: readonly number[];
  readonly priority: number;
  readonly lora: string | undefined;
}

export interface NaiveOutcome {
  readonly tokensAt: number[];
  cachedTokens: number;
  preemptions: number;
}

export interface NaiveOptions {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly batchedTokensMax: number;
  readonly sequencesMax: number;
  readonly loraSlots: number;
  readonly policy: 'fcfs' | 'priority';
  /** Whether all that a sequence has to compute must fit before it is admitted. */
  readonly wholePromptMustFit: boolean;
  readonly stepMs: (load: {
    readonly prefillTokens: number;
    readonly prefillSequences: number;
    readonly decodeSequences: number;
    readonly contextTokens: number;
    readonly attendedSquares: number;
  }) => number;
}

interface Block {
  hash: number | undefined;
  holders: number;
}

interface Running {
  readonly request: NaiveRequest;
  readonly outcome: NaiveOutcome;
  computed: number;
  generated: number;
  blocks: Block[];
  scheduled: boolean;
  /** Whether it has given a token since it was last admitted. */
  decoding: boolean;
}

interface Load {
  prefillTokens: number;
  prefillSequences: number;
  decodeSequences: number;
  contextTokens: number;
  attendedSquares: number;
}

export function runNaively(
  requests: readonly NaiveRequest[],
  options: NaiveOptions,
): readonly NaiveOutcome[] {
  return new NaiveEngine(requests, options).run();
}

class NaiveEngine {
  readonly #options: NaiveOptions;
  readonly #all: readonly Running[];
  /** Free blocks, least recently used first. */
  readonly #free: Block[];
  /** In the order of filling: of two blocks with the same content, the first is found. */
  readonly #filled: Block[] = [];
  #toArrive: Running[];
  readonly #waiting: Running[] = [];
  #running: Running[] = [];
  #now = 0;
  #budget = 0;
  readonly #work = new Map<Running, number>();

  constructor(requests: readonly NaiveRequest[], options: NaiveOptions) {
    this.#options = options;
    this.#free = Array.from({ length: options.blocks }, () => ({ hash: undefined, holders: 0 }));
    this.#all = requests.map((request) => ({
      request,
      outcome: { tokensAt: [], cachedTokens: 0, preemptions: 0 },
      computed: 0,
      generated: 0,
      blocks: [],
      scheduled: false,
      decoding: false,
    }));
    this.#toArrive = [...this.#all];
  }

  run(): readonly NaiveOutcome[] {
    for (;;) {
      this.#arrive();
      this.#work.clear();
      this.#budget = this.#options.batchedTokensMax;
      if (!this.#continueRunning()) this.#admitWaiting();
      if (this.#work.size > 0) {
        this.#now += this.#options.stepMs(this.#load());
        this.#complete();
        continue;
      }
      if (this.#toArrive.length === 0) return this.#all.map(({ outcome }) => outcome);
      this.#now = Math.min(...this.#toArrive.map(({ request }) => request.arrivalMs));
    }
  }

  #arrive(): void {
    const isHere = ({ request }: Running): boolean => request.arrivalMs <= this.#now;
    this.#waiting.push(...this.#toArrive.filter(isHere));
    this.#toArrive = this.#toArrive.filter((one) => !isHere(one));
    this.#sortWaiting();
  }

  #sortWaiting(): void {
    if (this.#options.policy === 'priority') this.#waiting.sort(urgency);
  }

  /** Returns whether a sequence was preempted. */
  #continueRunning(): boolean {
    let preempted = false;
    const inTurn = [...this.#running];
    for (const one of inTurn) {
      if (!this.#running.includes(one) || this.#budget === 0) continue;
      const tokens = Math.min(target(one) - one.computed, this.#budget);
      let fits = this.#grow(one, tokens);
      while (!fits) {
        preempted = true;
        if (this.#preempt() === one) break;
        fits = this.#grow(one, tokens);
      }
      if (fits) this.#include(one, tokens);
    }
    return preempted;
  }

  #admitWaiting(): void {
    const { sequencesMax, loraSlots, blockTokens, wholePromptMustFit } = this.#options;
    for (let index = 0; this.#budget > 0 && this.#running.length < sequencesMax; ) {
      const one = this.#waiting[index];
      if (one === undefined) return;
      const adapters = new Set(this.#running.map(({ request }) => request.lora));
      adapters.delete(undefined);
      const { lora } = one.request;
      if (lora !== undefined && !adapters.has(lora) && adapters.size >= loraSlots) {
        index += 1;
        continue;
      }
      const found = this.#cached(one);
      const cached = found.length * blockTokens;
      const tokens = Math.min(target(one) - cached, this.#budget);
      const idle = found.filter(({ holders }) => holders === 0);
      const wanted = wholePromptMustFit ? target(one) : cached + tokens;
      const fresh = Math.ceil(wanted / blockTokens) - found.length;
      if (fresh + idle.length > this.#free.length) return;
      for (const block of idle) this.#free.splice(this.#free.indexOf(block), 1);
      for (const block of found) block.holders += 1;
      one.blocks = found;
      one.computed = cached;
      this.#grow(one, tokens);
      this.#waiting.splice(index, 1);
      this.#running.push(one);
      if (!one.scheduled) one.outcome.cachedTokens = cached;
      one.scheduled = true;
      this.#include(one, tokens);
    }
  }

  #cached(one: Running): Block[] {
    const found: Block[] = [];
    const limit = Math.floor((target(one) - 1) / this.#options.blockTokens);
    for (const hash of one.request.blockHashes.slice(0, limit)) {
      const block = this.#filled.find((candidate) => candidate.hash === hash);
      if (block === undefined) break;
      found.push(block);
    }
    return found;
  }

  #include(one: Running, tokens: number): void {
    this.#work.set(one, tokens);
    this.#budget -= tokens;
  }

  #grow(one: Running, tokens: number): boolean {
    const { blockTokens } = this.#options;
    const after = one.computed + tokens;
    const needed = Math.ceil(after / blockTokens) - one.blocks.length;
    if (needed > this.#free.length) return false;
    for (const block of this.#free.splice(0, needed)) {
      if (block.hash !== undefined) this.#filled.splice(this.#filled.indexOf(block), 1);
      block.hash = undefined;
      block.holders = 1;
      one.blocks.push(block);
    }
    one.blocks.forEach((block, index) => {
      const hash = one.request.blockHashes[index];
      if (block.hash !== undefined || hash === undefined) return;
      if ((index + 1) * blockTokens > after) return;
      block.hash = hash;
      this.#filled.push(block);
    });
    return true;
  }

  #preempt(): Running {
    const byUrgency =
      this.#options.policy === 'fcfs' ? this.#running : [...this.#running].sort(urgency);
    const victim = byUrgency.at(-1) as Running;
    this.#running = this.#running.filter((one) => one !== victim);
    this.#budget += this.#work.get(victim) ?? 0;
    this.#work.delete(victim);
    this.#release(victim);
    victim.decoding = false;
    victim.outcome.preemptions += 1;
    this.#waiting.unshift(victim);
    this.#sortWaiting();
    return victim;
  }

  #release(one: Running): void {
    for (const block of one.blocks.reverse()) {
      block.holders -= 1;
      if (block.holders === 0) this.#free.push(block);
    }
    one.blocks = [];
    one.computed = 0;
  }

  #load(): Load {
    const load: Load = {
      prefillTokens: 0,
      prefillSequences: 0,
      decodeSequences: 0,
      contextTokens: 0,
      attendedSquares: 0,
    };
    for (const [one, tokens] of this.#work) {
      if (one.decoding) {
        load.decodeSequences += 1;
        load.contextTokens += one.computed;
      } else {
        load.prefillTokens += tokens;
        load.prefillSequences += 1;
        load.attendedSquares += (one.computed + tokens) ** 2 - one.computed ** 2;
      }
    }
    return load;
  }

  #complete(): void {
    for (const [one, tokens] of this.#work) {
      one.computed += tokens;
      if (one.computed < target(one)) continue;
      one.generated += 1;
      one.decoding = true;
      one.outcome.tokensAt.push(this.#now);
      if (one.generated < one.request.outputTokens) continue;
      this.#running = this.#running.filter((other) => other !== one);
      this.#release(one);
    }
  }
}

function target(one: Running): number {
  return one.request.promptTokens + one.generated;
}

function urgency(a: Running, b: Running): number {
  return a.request.priority - b.request.priority || a.request.arrivalMs - b.request.arrivalMs;
}
