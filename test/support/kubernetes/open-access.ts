import type { ApiAccess } from '../../../src/endpoints/discovery/kubernetes/api/api-access.ts';

/** Access to a server without TLS. */
export function openAccess(server: string, token?: string): ApiAccess {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return { server, credentials: async () => ({ headers, dispatcher: undefined }) };
}
