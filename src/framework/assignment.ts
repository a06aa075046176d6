import type { Endpoint } from './endpoint.ts';
import type { InferenceRequest } from './request.ts';
import { type CycleKey, cycleKey } from './scheduling.ts';

/** How a pool is divided among classes of requests, along one dimension. */
export interface AssignmentView {
  /** The class a request belongs to; undefined for none. */
  classOf(request: InferenceRequest): string | undefined;
  /** The class an endpoint serves; undefined for one that serves all. */
  assigned(endpoint: Endpoint): string | undefined;
}

export const DEFAULT_ASSIGNMENT_PRODUCER = 'assignment-informer';

/** The division as the informer with this name has it. */
export function assignmentKey(
  producer: string = DEFAULT_ASSIGNMENT_PRODUCER,
): CycleKey<AssignmentView> {
  return cycleKey(`assignment/${producer}`);
}
