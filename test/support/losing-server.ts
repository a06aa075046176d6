import type { Millis } from '../../src/framework/runtime.ts';
import type { ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { ServerParts } from '../../src/lab/simulate/simulated-server.ts';
import { NO_SUBMISSION, SimulatedServer } from '../../src/lab/simulate/simulated-server.ts';
import type { SequenceRequest, Submission } from '../../stub-server/engine/sequence.ts';

const NO_USAGE = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/**
 * A simulated server whose crash leaves connections open: what it has then, and what is sent until
 * it is back, gets no answer, and its clients wait as long as they have patience.
 */
export class LosingServer extends SimulatedServer {
  readonly #clock: ServerParts['clock'];
  readonly #patienceMs: Millis;
  readonly #inside: Set<SequenceRequest> = new Set();
  #hangs = false;

  constructor(spec: ServerSpec, parts: ServerParts, patienceMs: Millis) {
    super(spec, parts);
    this.#clock = parts.clock;
    this.#patienceMs = patienceMs;
  }

  override submit(request: SequenceRequest): Submission {
    if (this.#hangs) {
      this.#lose(request);
      return NO_SUBMISSION;
    }
    const { onFirstToken, onDone } = request;
    this.#inside.add(request);
    return super.submit({
      ...request,
      onFirstToken: (at) => {
        if (this.#inside.has(request)) onFirstToken?.(at);
      },
      onDone: (...ended) => {
        if (this.#inside.delete(request)) onDone?.(...ended);
      },
    });
  }

  override crash(): void {
    this.#hangs = true;
    for (const request of this.#inside) this.#lose(request);
    this.#inside.clear();
    super.crash();
  }

  override restart(): void {
    this.#hangs = false;
    super.restart();
  }

  #lose({ onDone }: SequenceRequest): void {
    this.#clock.setTimer(this.#patienceMs, () => onDone?.('error', NO_USAGE, this.#clock.now()));
  }
}
