import { z } from 'zod';
import { defineScheduler, type SchedulerDefinition } from '../framework/plugin.ts';
import { RemoteScheduler } from './remote-scheduler.ts';

/** Long enough for a local process, and short beside a time to first token. */
const DEADLINE_MS = 5;
const DEADLINE_MS_MAX = 1000;
const WINDOW_MS_MAX = 100;
const HEADERS_MAX = 64;

/** `unix:/path` or `host:port`. */
export const ADDRESS: RegExp = /^(?:unix:.+|\[[0-9a-fA-F:.]+\]:\d{1,5}|[^\s:/]+:\d{1,5})$/;

/** `scheduler: { type: remote, address: unix:/run/mine.sock }`: another process decides. */
export const remote: SchedulerDefinition = defineScheduler({
  type: 'remote',
  config: z.lazy(() =>
    z
      .strictObject({
        address: z.string().regex(ADDRESS, 'must be unix:/path or host:port'),
        deadlineMs: z.number().positive().max(DEADLINE_MS_MAX).default(DEADLINE_MS),
        batchWindowMs: z.number().min(0).max(WINDOW_MS_MAX).default(0),
        headers: z
          .array(z.string().min(1).toLowerCase())
          .max(HEADERS_MAX, `must be at most ${HEADERS_MAX} names`)
          .default([]),
        tls: z.strictObject({ caPath: z.string().min(1).optional() }).optional(),
      })
      .refine(({ batchWindowMs, deadlineMs }) => batchWindowMs < deadlineMs, {
        path: ['batchWindowMs'],
        message: 'must be less than deadlineMs, otherwise every answer comes too late',
      }),
  ),
  // As names: it may compare them with the labels of endpoints. Other values are hashed in captures.
  headers: ({ headers }) => headers.map((name) => ({ name, as: 'name' as const })),
  create: ({ tls, ...options }, host) => new RemoteScheduler({ ...options, tls }, host),
});
