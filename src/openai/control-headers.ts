import type { RequestHead } from './body/body-reader.ts';

/**
 * Headers by which a request chooses what operators choose. They count from trusted clients only.
 */
export const CONTROL_HEADERS: readonly string[] = [
  'x-llm-d-model-name-rewrite',
  'x-gateway-model-name-rewrite',
  'x-pointsman-canary',
];

/** The head without control headers; the head itself if it has none. */
export function withoutControls(
  head: RequestHead,
  onIgnored: (control: string) => void,
): RequestHead {
  let headers: Map<string, string> | undefined;
  for (const name of CONTROL_HEADERS) {
    if (!head.headers.has(name)) continue;
    headers ??= new Map(head.headers);
    headers.delete(name);
    onIgnored(name);
  }
  return headers === undefined ? head : { ...head, headers };
}
