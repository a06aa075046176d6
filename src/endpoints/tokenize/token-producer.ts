import { z } from 'zod';
import {
  type DataSourceDefinition,
  defineDataSource,
  type EndpointWriter,
} from '../../framework/plugin.ts';
import type { HttpTls, Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';
import {
  CLIENT_PAIR,
  type HttpTlsParameters,
  hasClientPair,
  httpTlsFields,
  httpTlsOf,
} from '../../plugins/parameters/http-tls.ts';

interface TokenizerChoice {
  /** A server with vLLM's render API; undefined: `/tokenize` of the pool's model servers. */
  readonly url: string | undefined;
  /** How model servers are reached, where they are asked. */
  readonly scheme: 'http' | 'https';
  /** For HTTPS to the server that is asked. */
  readonly tls: HttpTls | undefined;
  readonly deadlineMs: Millis;
}

/** Less than a wrong pick costs (some 100 ms of prefill); model servers answer in 1 to 10 ms. */
const DEADLINE_MS_DEFAULT: Millis = 100;

interface TokenProducerConfig {
  readonly vllm?:
    | (HttpTlsParameters & { readonly url: string; readonly timeout?: Millis | undefined })
    | undefined;
  readonly modelServers?: (HttpTlsParameters & { readonly scheme: 'http' | 'https' }) | undefined;
}

const config = z.strictObject({
  modelName: z.string().optional(),
  /** Older releases of the reference have it; the presence of `vllm` says the same now. */
  backend: z.string().optional(),
  /** Has no effect: tokens are not estimated. */
  estimate: z.record(z.string(), z.unknown()).optional(),
  vllm: z
    .strictObject({
      url: z
        .union([z.literal(''), z.url()])
        .optional()
        .transform((url) => url || 'http://localhost:8000'),
      timeout: duration.optional(),
      mmTimeout: duration.optional(),
      ...httpTlsFields,
    })
    .refine(hasClientPair, CLIENT_PAIR)
    .optional(),
  /** How to reach `/tokenize` of the model servers, where there is no `vllm`. */
  modelServers: z
    .strictObject({ scheme: z.enum(['http', 'https']).default('http'), ...httpTlsFields })
    .refine(hasClientPair, CLIENT_PAIR)
    .optional(),
  udsTokenizerConfig: z.record(z.string(), z.unknown()).optional(),
});

const DEFAULT: TokenizerChoice = {
  url: undefined,
  scheme: 'http',
  tls: undefined,
  deadlineMs: DEADLINE_MS_DEFAULT,
};

// By pool, as plugins that need tokens may start before or after the producer.
const chosen = new WeakMap<EndpointWriter, TokenizerChoice>();

function tokenProducerOf(type: string): DataSourceDefinition {
  return defineDataSource<TokenProducerConfig>({
    type,
    config,
    start({ vllm, modelServers }, { pool }) {
      const { url, timeout: deadlineMs = DEADLINE_MS_DEFAULT } = vllm ?? {};
      const { scheme = 'http' } = modelServers ?? {};
      const parameters = vllm ?? modelServers;
      const tls = parameters && httpTlsOf(parameters);
      chosen.set(pool, { url, scheme, tls, deadlineMs });
      return { stop: () => void chosen.delete(pool) };
    },
  });
}

/** Configures the tokenizer of a pool, which plugins get from `tokenizerOf`. */
export const tokenProducer: DataSourceDefinition = tokenProducerOf('token-producer');

/** The older name of `token-producer`. */
export const tokenizer: DataSourceDefinition = tokenProducerOf('tokenizer');

export function tokenizerOf(pool: EndpointWriter): TokenizerChoice {
  return chosen.get(pool) ?? DEFAULT;
}
