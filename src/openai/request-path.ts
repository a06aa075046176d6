import type { RequestHead } from './body/body-reader.ts';

/**
 * The path that the reference assumes for a request without one; requests of its own tests have
 * none.
 */
const WITHOUT_PATH = '/v1/completions';

/**
 * The path by which a request is read. Where a gateway has replaced it, headers have the original
 * one.
 */
export function requestPath({ path, headers }: Omit<RequestHead, 'id'>): string {
  if (path !== '/' && path !== '') return path;
  const given = headers.get('x-original-path') || headers.get('x-forwarded-path');
  return given || headers.get(':path') || WITHOUT_PATH;
}
