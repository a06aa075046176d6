import { z } from 'zod';
import type { InferenceRequest } from '../../framework/request.ts';

/** A class of requests, and with mode `labels` the endpoints that belong to it. */
export interface RequestClass {
  readonly name: string;
  readonly maxPromptTokens?: number | undefined;
  readonly objective?: string | undefined;
  readonly model?: string | undefined;
  /** The request's TTFT objective is at most this. */
  readonly maxTtftSloMs?: number | undefined;
  readonly endpointLabels?: Readonly<Record<string, string>> | undefined;
  /** The share of the endpoints, as long as nothing is learned. */
  readonly share?: number | undefined;
}

export const requestClass: z.ZodType<RequestClass> = z.lazy(() =>
  z.strictObject({
    name: z.string().min(1),
    maxPromptTokens: z.int().positive().optional(),
    objective: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
    maxTtftSloMs: z.number().positive().optional(),
    endpointLabels: z.record(z.string(), z.string()).optional(),
    share: z.number().positive().optional(),
  }),
);

/** The first class all of whose conditions the request meets. */
export function classOf(
  classes: readonly RequestClass[],
  request: InferenceRequest,
): string | undefined {
  return classes.find((each) => belongs(each, request))?.name;
}

function belongs(
  { maxPromptTokens, objective, model, maxTtftSloMs }: RequestClass,
  request: InferenceRequest,
): boolean {
  return (
    request.promptTokens <= (maxPromptTokens ?? Number.POSITIVE_INFINITY) &&
    (objective === undefined || request.objective === objective) &&
    (model === undefined || request.model === model) &&
    (maxTtftSloMs === undefined || (request.ttftSloMs ?? Number.POSITIVE_INFINITY) <= maxTtftSloMs)
  );
}
