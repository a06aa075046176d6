import { z } from 'zod';
import { requestAttributeKey } from '../../framework/cycle-facts.ts';
import type { HeaderUse } from '../../framework/plugin.ts';
import type { Runtime } from '../../framework/runtime.ts';
import type { CycleKey } from '../../framework/scheduling.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import {
  memoryBinding,
  type SessionBinding,
  type SessionSource,
  tokenBinding,
} from './session-binding.ts';

const TOKEN_HEADER = 'x-session-token';
const TTL_SECONDS = 300;

const token = z.lazy(() =>
  z.strictObject({
    header: z
      .string()
      .toLowerCase()
      .default(TOKEN_HEADER)
      .transform((header) => header || TOKEN_HEADER),
    /** Our place of `profileName`. */
    profileName: z.string().optional(),
  }),
);

/** An empty text, as Go writes what is not set, is none. */
const text = z
  .string()
  .optional()
  .transform((given) => given || undefined);

const source: z.ZodType<SessionSource> = z.lazy(() =>
  z
    .strictObject({
      header: text.pipe(z.string().toLowerCase().optional()),
      /** An attribute of the request that another plugin provides. */
      attribute: text,
      producer: z.string().optional(),
    })
    .refine(({ header, attribute }) => (header === undefined) !== (attribute === undefined), {
      path: ['header'],
      message: 'give exactly one of header and attribute',
    }),
);

const sessionId = z.lazy(() =>
  z.strictObject({
    /** What may carry the session's id; the first one present counts. */
    sources: z
      .array(source)
      .default([])
      .transform((sources) => (sources.length > 0 ? sources : [{ header: 'x-session-id' }])),
    /** 0 is Go's value for what is not set. */
    evictionTtlSeconds: z
      .number()
      .nonnegative()
      .default(TTL_SECONDS)
      .transform((seconds) => seconds || TTL_SECONDS),
    /** Accepted for compatibility, without effect: there is no sweep. */
    evictionSweepSeconds: z.number().nonnegative().default(10),
  }),
);

interface SessionAffinityConfig {
  readonly strategy: 'encoded_endpoint_header' | 'session_id';
  readonly profileName?: string | undefined;
  readonly encodedEndpointHeaderConfig: {
    readonly header: string;
    readonly profileName?: string | undefined;
  };
  readonly sessionIdConfig: {
    readonly sources: readonly SessionSource[];
    readonly evictionTtlSeconds: number;
  };
}

/** Parameters of the session affinity scorer and filter. */
export const sessionAffinityConfig: z.ZodType<SessionAffinityConfig> = z.lazy(() =>
  z.strictObject({
    strategy: z
      .enum(['encoded_endpoint_header', 'session_id', ''])
      .default('encoded_endpoint_header')
      .transform((strategy) => strategy || 'encoded_endpoint_header'),
    /** The profile whose pick the session is bound to, where a request runs several profiles. */
    profileName: z.string().optional(),
    encodedEndpointHeaderConfig: token.default(token.parse({})),
    sessionIdConfig: sessionId.default(sessionId.parse({})),
  }),
);

/** The request headers that a binding with these parameters reads. */
export function sessionHeaders({
  strategy,
  encodedEndpointHeaderConfig: token,
  sessionIdConfig,
}: SessionAffinityConfig): readonly HeaderUse[] {
  return strategy === 'encoded_endpoint_header'
    ? [{ name: token.header, as: 'name' }]
    : sessionIdConfig.sources.flatMap(({ header }) =>
        header === undefined ? [] : [{ name: header, as: 'id' }],
      );
}

/** The attributes of requests that a binding with these parameters reads. */
export function sessionNeeds({
  strategy,
  sessionIdConfig,
}: SessionAffinityConfig): readonly CycleKey<string | undefined>[] {
  if (strategy === 'encoded_endpoint_header') return [];
  return sessionIdConfig.sources.flatMap(({ attribute, producer }) =>
    attribute === undefined ? [] : [requestAttributeKey(attribute, producer)],
  );
}

/** Creates an empty binding with these parameters. */
export function sessionBindingOf(
  config: SessionAffinityConfig,
  { secret = 0 }: Pick<Runtime, 'secret'>,
): SessionBinding {
  const { encodedEndpointHeaderConfig: token } = config;
  const profileName = config.profileName || token.profileName || undefined;
  if (config.strategy === 'encoded_endpoint_header') {
    return tokenBinding({ header: token.header, profileName });
  }
  const { sources, evictionTtlSeconds } = config.sessionIdConfig;
  const hash = new KeyedHash(secret);
  return memoryBinding({ sources, ttlMs: 1000 * evictionTtlSeconds, hash, profileName });
}
