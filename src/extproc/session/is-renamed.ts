import type { InferenceRequest } from '../../framework/request.ts';

/** Whether the model server is asked for another model than the client named, if any. */
export function isRenamed({ model, rewrite }: InferenceRequest): boolean {
  return rewrite !== undefined && rewrite.requestedModel !== model;
}
