import type { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import type { SessionOptions } from '../extproc/session/session.ts';
import { type HashSecret, KeyedHash } from '../framework/keyed-hash.ts';
import { createOpenBody, headerOnlyRequest } from '../openai/open-body.ts';
import type { ServeOptions } from './serve-options.ts';

/** How the requests of a listener are read. */
export function requestReaders(
  { bodyBytesMax, observe = false }: ServeOptions,
  { rules, secret }: { readonly rules: RequestRules; readonly secret: HashSecret },
): Pick<SessionOptions, 'openBody' | 'headerOnly'> {
  const hash = new KeyedHash(secret);
  const priorityOf = rules.priorityOf.bind(rules);
  // An observer sees requests after the other picker has rewritten them.
  const rewriteOf = observe ? undefined : rules.rewriteOf.bind(rules);
  return {
    openBody: createOpenBody({ bodyBytesMax, hashSeed: secret, priorityOf, rewriteOf }),
    headerOnly: (head) => headerOnlyRequest(head, priorityOf, hash),
  };
}
