import { z } from 'zod';
import {
  type DataSourceDefinition,
  defineDataSource,
  type EndpointWriter,
  type Stopwatch,
} from '../../framework/plugin.ts';
import type { MediaEstimate } from '../../framework/prompt-reading.ts';
import type { HttpTls, Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';
import {
  CLIENT_PAIR,
  type HttpTlsParameters,
  hasClientPair,
  httpTlsFields,
  httpTlsOf,
} from '../../plugins/parameters/http-tls.ts';
import { estimateConfig } from './estimate-config.ts';

interface TokenizerChoice {
  /** A server with vLLM's render API; undefined: `/tokenize` of the pool's model servers. */
  readonly url: string | undefined;
  /** Whether that server renders requests of the Messages API themselves, and not as chats. */
  readonly rendersMessages: boolean;
  /** How model servers are reached, where they are asked. */
  readonly scheme: 'http' | 'https';
  /** For HTTPS to the server that is asked. */
  readonly tls: HttpTls | undefined;
  readonly deadlineMs: Millis;
  /** Times how long prompts wait for their tokens. */
  readonly stopwatch?: Stopwatch | undefined;
}

/** Less than a wrong pick costs (some 100 ms of prefill); model servers answer in 1 to 10 ms. */
const DEADLINE_MS_DEFAULT: Millis = 100;

export interface TokenProducerConfig {
  readonly estimate?: MediaEstimate | undefined;
  readonly vllm?:
    | (HttpTlsParameters & {
        readonly url?: string | undefined;
        readonly timeout?: Millis | undefined;
        readonly messagesRenderMode?: '' | 'auto' | 'native' | 'legacy' | undefined;
        readonly endpointDiscovery?: object | undefined;
      })
    | undefined;
  readonly modelServers?: (HttpTlsParameters & { readonly scheme: 'http' | 'https' }) | undefined;
}

/** The servers of the pool are asked. How to choose among them has no effect. */
const endpointDiscovery = z.lazy(() =>
  z.strictObject({
    portRules: z.array(z.record(z.string(), z.unknown())).optional(),
    loadBalancer: z.strictObject({ type: z.enum(['', 'round-robin']).optional() }).optional(),
    attemptTimeout: duration.optional(),
    discoverModelLimits: z.boolean().optional(),
    minModelLen: z.int().min(0).optional(),
    contextLimitLabel: z.string().optional(),
  }),
);

/** A renderer beside the picker, where `vllm` does not say which. */
const RENDERER = 'http://localhost:8000';

/** Each names another tokenizer: the reference takes one of them, too. */
function oneTokenizer(given: {
  readonly estimate?: unknown;
  readonly vllm?: unknown;
  readonly udsTokenizerConfig?: Readonly<Record<string, unknown>> | undefined;
}): boolean {
  const { estimate, vllm, udsTokenizerConfig } = given;
  const named = [estimate, vllm, udsTokenizerConfig?.['socketFile'] || undefined];
  return named.filter((each) => each !== undefined).length <= 1;
}

const config = z.lazy(() =>
  z
    .strictObject({
      /** Has no effect: the server that is asked knows its model. */
      modelName: z.string().optional(),
      /** Older releases of the reference have it; the presence of `vllm` says the same now. */
      backend: z.string().optional(),
      estimate: estimateConfig.optional(),
      vllm: z
        .strictObject({
          url: z
            .union([z.literal(''), z.url()])
            .optional()
            .transform((url) => url || undefined),
          timeout: duration.optional(),
          mmTimeout: duration.optional(),
          /** `native`: by `/v1/messages/render` of the server at `url`; otherwise as chats. */
          messagesRenderMode: z.enum(['', 'auto', 'native', 'legacy']).optional(),
          /** Has no effect: only what says the prompt is sent. */
          prefillOnly: z.boolean().optional(),
          endpointDiscovery: endpointDiscovery.optional(),
          ...httpTlsFields,
        })
        .refine(hasClientPair, CLIENT_PAIR)
        .refine((given) => given.url === undefined || given.endpointDiscovery === undefined, {
          path: ['url'],
          message: 'cannot be given beside endpointDiscovery; leave out one of them',
        })
        .optional(),
      /** How to reach `/tokenize` of the model servers, where there is no `vllm`. */
      modelServers: z
        .strictObject({ scheme: z.enum(['http', 'https']).default('http'), ...httpTlsFields })
        .refine(hasClientPair, CLIENT_PAIR)
        .optional(),
      udsTokenizerConfig: z.record(z.string(), z.unknown()).optional(),
    })
    .refine(oneTokenizer, {
      message: 'may have one of estimate, vllm and udsTokenizerConfig; leave out the others',
    }),
);

const DEFAULT: TokenizerChoice = {
  url: undefined,
  rendersMessages: false,
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
    uncaptured: 'the tokens of a tokenizer',
    start({ vllm, modelServers }, { pool }) {
      const { timeout: deadlineMs = DEADLINE_MS_DEFAULT } = vllm ?? {};
      const asksPool = vllm === undefined || vllm.endpointDiscovery !== undefined;
      const url = asksPool ? undefined : (vllm.url ?? RENDERER);
      const rendersMessages = url !== undefined && vllm?.messagesRenderMode === 'native';
      const { scheme = 'http' } = modelServers ?? {};
      const parameters = vllm ?? modelServers;
      const tls = parameters && httpTlsOf(parameters);
      let choice: TokenizerChoice = { url, rendersMessages, scheme, tls, deadlineMs };
      chosen.set(pool, choice);
      return {
        timeAnswers: (stopwatch) => {
          choice = { ...choice, stopwatch };
          chosen.set(pool, choice);
        },
        // A configuration that is loaded again starts its plugins before it stops the former ones.
        stop: () => {
          if (chosen.get(pool) === choice) chosen.delete(pool);
        },
      };
    },
  });
}

/** Configures the tokenizer of a pool, which plugins get from `tokenizerOf`. */
export const tokenProducer: DataSourceDefinition = tokenProducerOf('token-producer');

/** The older name of `token-producer`. */
export const tokenizer: DataSourceDefinition = tokenProducerOf('tokenizer');

/** The tokenizer that the configuration of this pool has chosen. */
export function tokenizerOf(pool: EndpointWriter): TokenizerChoice {
  return chosen.get(pool) ?? DEFAULT;
}
