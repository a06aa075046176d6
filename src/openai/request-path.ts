import type { RequestHead } from './body/body-reader.ts';

/** What the reference takes a request for that says no path, as those of its own tests do. */
const WITHOUT_PATH = '/v1/completions';

/** The path that says what a request asks for: where a gateway hides it, its headers have it. */
export function requestPath({ path, headers }: Omit<RequestHead, 'id'>): string {
  if (path !== '/' && path !== '') return path;
  const given = headers.get('x-original-path') || headers.get('x-forwarded-path');
  return given || headers.get(':path') || WITHOUT_PATH;
}
