import type { JsonObject } from '../../openai/json/json-object.ts';
import type { GenerationApi } from '../body/generation-api.ts';

/** A request whose prompt is to be computed elsewhere. */
export interface Asked {
  /** Without parameters that only the sidecar may set. */
  readonly body: JsonObject;
  readonly api: GenerationApi;
  /** The prefilling server, `host:port`. */
  readonly prefiller: string;
  /** The server from which cached blocks can be taken, if another than the prefilling one. */
  readonly kvSource: string | undefined;
  /**
   * Where the engine has the KV of this conversation's earlier turns, as it has said; if it has.
   */
  readonly earlierKv?: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** One of the two requests that a client's request becomes. */
export interface Leg {
  readonly body: JsonObject;
  /** Beside the headers of the client. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Legs {
  readonly prefill: Leg;
  /** The prefill leg when it is sent again, if it differs. */
  readonly prefillAgain?: Leg | undefined;
  /** Whether the decode leg is sent at the same time; else it waits for the prefill's answer. */
  readonly atOnce: boolean;
  /**
   * Makes the decode leg from `kv_transfer_params` of the prefill's answer; undefined where it has
   * none, and where both are sent at once. Throws where it must say where the KV is.
   */
  decode(params: JsonObject | undefined): Leg;
}

/** How engines pass KV to each other: what each leg says. Rejects where the legs cannot be made. */
export interface KvContract {
  /** The name of the connector. */
  readonly name: string;
  legsOf(asked: Asked): Legs | Promise<Legs>;
  /** For the legs of a request that failed: what was learned of the server may be outdated. */
  readonly forget?: ((prefiller: string) => void) | undefined;
  /** Whether the decoding server is first asked to answer from what it has cached. */
  readonly decodesFirst: boolean;
  /** Whether the answer's count of cached tokens is that of the prefilling server. */
  readonly countsCached: boolean;
}
