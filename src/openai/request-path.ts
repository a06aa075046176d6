import type { RequestHead } from './body/body-reader.ts';

/** The path that says what a request asks for: where a gateway hides it, its headers have it. */
export function requestPath({ path, headers }: Omit<RequestHead, 'id'>): string {
  if (path !== '/' && path !== '') return path;
  return headers.get('x-original-path') || headers.get('x-forwarded-path') || path;
}
