import type { ParserType } from '../../framework/parser-type.ts';
import type { Log } from '../../runtime/log/log.ts';

/** Parsers that read only gRPC, which the pool's protocol `http` cannot carry. */
const GRPC_ONLY: readonly ParserType[] = ['vllmgrpc-parser', 'vertexai-parser'];
const HTTP = 'http';

interface Health {
  setServing(serving: boolean): void;
}

/**
 * Decides what gRPC health says: SERVING once the pool is known, while this picker leads, where
 * pickers elect one, and while each parser that it names can read the protocol of the pool, as in
 * the reference.
 */
export class ServingState {
  readonly #parsers: () => readonly ParserType[];
  readonly #log: Log;
  #health: Health | undefined;
  #leads: boolean;
  #known: boolean;
  #appProtocol: string | undefined;

  constructor(
    { leads, known }: { readonly leads: boolean; readonly known: boolean },
    { parsers, log }: { readonly parsers: () => readonly ParserType[]; readonly log: Log },
  ) {
    this.#leads = leads;
    this.#known = known;
    this.#parsers = parsers;
    this.#log = log;
  }

  /** Why it does not serve the pool; one sentence. */
  get trouble(): string | undefined {
    if (this.#appProtocol !== HTTP) return undefined;
    const parser = this.#parsers().find((each) => GRPC_ONLY.includes(each));
    if (parser === undefined) return undefined;
    return `the pool’s appProtocol is ${HTTP}, and ${parser} reads only gRPC: make it kubernetes.io/h2c`;
  }

  /** From now on this health service says whether the picker serves. */
  attach(health: Health): void {
    this.#health = health;
    this.#report();
  }

  /** The server drains: no health service says any more whether the picker serves. */
  detach(): void {
    this.#health = undefined;
  }

  setLeading(leads: boolean): void {
    this.#leads = leads;
    this.#report();
  }

  /**
   * Whether the pool exists and its endpoints have been listed: before, requests would find none.
   */
  setPoolKnown(known: boolean): void {
    this.#known = known;
    this.#report();
  }

  /** The protocol of the pool; undefined where it has none, and any parser fits. */
  setPoolProtocol(appProtocol: string | undefined): void {
    this.#appProtocol = appProtocol;
    const { trouble: reason } = this;
    if (reason !== undefined) this.#log.warn({ reason }, 'health says NOT_SERVING');
    this.#report();
  }

  #report(): void {
    this.#health?.setServing(this.#leads && this.#known && this.trouble === undefined);
  }
}
