import { z } from 'zod';
import {
  type DataSourceDefinition,
  defineDataSource,
  type EndpointWriter,
} from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';

/** Which tokenizer a pool's requests are shown to. */
export interface TokenizerChoice {
  /** A server with vLLM's render API; undefined: the pool's own model servers are asked, at `/tokenize`. */
  readonly url: string | undefined;
  readonly deadlineMs: Millis;
}

/**
 * A wrong pick costs a prefill of what was cached elsewhere, some hundreds of milliseconds for the prompts that matter;
 * waiting for tokens must cost less. Model servers answer in 1 to 10 ms for thousands of tokens.
 */
const DEADLINE_MS_DEFAULT: Millis = 100;

interface TokenProducerConfig {
  readonly vllm?: { readonly url: string; readonly timeout?: Millis | undefined } | undefined;
}

const config = z.strictObject({
  modelName: z.string().optional(),
  /** Of the reference's estimate, which ours takes the place of. */
  estimate: z.record(z.string(), z.unknown()).optional(),
  vllm: z
    .strictObject({
      url: z.url().default('http://localhost:8000'),
      timeout: duration.optional(),
      mmTimeout: duration.optional(),
    })
    .optional(),
  udsTokenizerConfig: z.record(z.string(), z.unknown()).optional(),
});

const DEFAULT: TokenizerChoice = { url: undefined, deadlineMs: DEADLINE_MS_DEFAULT };

// The choice of a pool, for the plugins of the same pool that need tokens, whichever is started first.
const chosen = new WeakMap<EndpointWriter, TokenizerChoice>();

function tokenProducerOf(type: string): DataSourceDefinition {
  return defineDataSource<TokenProducerConfig>({
    type,
    config,
    start({ vllm }, { pool }) {
      const { url, timeout: deadlineMs = DEADLINE_MS_DEFAULT } = vllm ?? {};
      chosen.set(pool, { url, deadlineMs });
      return { stop: () => void chosen.delete(pool) };
    },
  });
}

/** Says whom to ask for a prompt's tokens. Has no work of its own: who needs tokens asks `tokenizerOf`. */
export const tokenProducer: DataSourceDefinition = tokenProducerOf('token-producer');

/** Its older name. */
export const tokenizer: DataSourceDefinition = tokenProducerOf('tokenizer');

export function tokenizerOf(pool: EndpointWriter): TokenizerChoice {
  return chosen.get(pool) ?? DEFAULT;
}
