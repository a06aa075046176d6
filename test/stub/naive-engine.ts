/**
 * vLLM V1's scheduler as its description reads, one sequence and one block at a time, for comparison: nothing in it is
 * clever, and nothing is shared with the engine under test but the step's load.
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
  /** It has given a token since it was last admitted. */
  decoding: boolean;
}

export function runNaively(
  requests: readonly NaiveRequest[],
  options: NaiveOptions,
): readonly NaiveOutcome[] {
  const { blockTokens, policy } = options;
  /** Free blocks, least recently used first. */
  const free: Block[] = Array.from({ length: options.blocks }, () => ({
    hash: undefined,
    holders: 0,
  }));
  /** In order of filling: of two blocks with one content the first is found. */
  const filled: Block[] = [];
  const all: Running[] = requests.map((request) => ({
    request,
    outcome: { tokensAt: [], cachedTokens: 0, preemptions: 0 },
    computed: 0,
    generated: 0,
    blocks: [],
    scheduled: false,
    decoding: false,
  }));
  let toArrive = [...all];
  let waiting: Running[] = [];
  let running: Running[] = [];
  let now = 0;

  const target = (one: Running): number => one.request.promptTokens + one.generated;
  const urgency = (a: Running, b: Running): number =>
    a.request.priority - b.request.priority || a.request.arrivalMs - b.request.arrivalMs;
  const sortWaiting = (): void => {
    if (policy === 'priority') waiting.sort(urgency);
  };
  const grow = (one: Running, tokens: number): boolean => {
    const after = one.computed + tokens;
    const needed = Math.ceil(after / blockTokens) - one.blocks.length;
    if (needed > free.length) return false;
    for (let n = 0; n < needed; n++) {
      const block = free.shift() as Block;
      if (block.hash !== undefined) filled.splice(filled.indexOf(block), 1);
      block.hash = undefined;
      block.holders = 1;
      one.blocks.push(block);
    }
    one.blocks.forEach((block, index) => {
      const hash = one.request.blockHashes[index];
      if (block.hash !== undefined || hash === undefined) return;
      if ((index + 1) * blockTokens > after) return;
      block.hash = hash;
      filled.push(block);
    });
    return true;
  };
  const releaseAll = (one: Running): void => {
    for (const block of one.blocks.reverse()) {
      block.holders -= 1;
      if (block.holders === 0) free.push(block);
    }
    one.blocks = [];
    one.computed = 0;
  };
  const preempt = (): Running => {
    const victim =
      policy === 'fcfs'
        ? (running.at(-1) as Running)
        : ([...running].sort(urgency).at(-1) as Running);
    running = running.filter((one) => one !== victim);
    releaseAll(victim);
    victim.decoding = false;
    victim.outcome.preemptions += 1;
    waiting.unshift(victim);
    sortWaiting();
    return victim;
  };

  for (;;) {
    for (const one of toArrive.filter(({ request }) => request.arrivalMs <= now)) waiting.push(one);
    toArrive = toArrive.filter(({ request }) => request.arrivalMs > now);
    sortWaiting();
    // Decodes and prefills in running order.
    let budget = options.batchedTokensMax;
    const work = new Map<Running, number>();
    let preempted = false;
    for (const one of [...running]) {
      if (!running.includes(one) || budget === 0) continue;
      const tokens = Math.min(target(one) - one.computed, budget);
      let fits = grow(one, tokens);
      while (!fits) {
        preempted = true;
        const victim = preempt();
        const spared = work.get(victim) ?? 0;
        work.delete(victim);
        budget += spared;
        if (victim === one) break;
        fits = grow(one, tokens);
      }
      if (!fits) continue;
      work.set(one, tokens);
      budget -= tokens;
    }
    for (let index = 0; !preempted && budget > 0 && running.length < options.sequencesMax; ) {
      const one = waiting[index];
      if (one === undefined) break;
      const adapters = new Set(running.map(({ request }) => request.lora));
      adapters.delete(undefined);
      const { lora } = one.request;
      if (lora !== undefined && !adapters.has(lora) && adapters.size >= options.loraSlots) {
        index += 1;
        continue;
      }
      const found: Block[] = [];
      const limit = Math.floor((target(one) - 1) / blockTokens);
      for (const hash of one.request.blockHashes.slice(0, limit)) {
        const block = filled.find((candidate) => candidate.hash === hash);
        if (block === undefined) break;
        found.push(block);
      }
      const cached = found.length * blockTokens;
      const tokens = Math.min(target(one) - cached, budget);
      const idle = found.filter(({ holders }) => holders === 0).length;
      if (Math.ceil((cached + tokens) / blockTokens) - found.length + idle > free.length) break;
      for (const block of found) {
        if (block.holders === 0) free.splice(free.indexOf(block), 1);
        block.holders += 1;
      }
      one.blocks = found;
      one.computed = cached;
      grow(one, tokens);
      waiting.splice(index, 1);
      running.push(one);
      if (!one.scheduled) one.outcome.cachedTokens = cached;
      one.scheduled = true;
      work.set(one, tokens);
      budget -= tokens;
    }
    if (work.size === 0) {
      const next = Math.min(...toArrive.map(({ request }) => request.arrivalMs));
      if (next === Number.POSITIVE_INFINITY) return all.map(({ outcome }) => outcome);
      now = next;
      continue;
    }
    const load = {
      prefillTokens: 0,
      prefillSequences: 0,
      decodeSequences: 0,
      contextTokens: 0,
      attendedSquares: 0,
    };
    for (const [one, tokens] of work) {
      if (one.decoding) {
        load.decodeSequences += 1;
        load.contextTokens += one.computed;
      } else {
        load.prefillTokens += tokens;
        load.prefillSequences += 1;
        load.attendedSquares += (one.computed + tokens) ** 2 - one.computed ** 2;
      }
    }
    now += options.stepMs(load);
    for (const [one, tokens] of work) {
      one.computed += tokens;
      if (one.computed < target(one)) continue;
      one.generated += 1;
      one.decoding = true;
      one.outcome.tokensAt.push(now);
      if (one.generated < one.request.outputTokens) continue;
      running = running.filter((other) => other !== one);
      releaseAll(one);
    }
  }
}
