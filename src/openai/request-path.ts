import type { RequestHead } from './body/body-reader.ts';

/**
 * Stands for the path of a request without one: NGINX's gateway sends none, nor do the reference's
 * own tests. The reference takes it for that of completions, and so it ends like one.
 */
export const WITHOUT_PATH = '(none)/completions';

/**
 * The path by which a request is read. Where a gateway has replaced it, headers have the original
 * one.
 */
export function requestPath({ path, headers }: Omit<RequestHead, 'id'>): string {
  if (path !== '/' && path !== '') return path;
  const given = headers.get('x-original-path') || headers.get('x-forwarded-path');
  return given || headers.get(':path') || WITHOUT_PATH;
}
