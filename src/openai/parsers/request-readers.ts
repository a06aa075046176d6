import type { InferenceRequest } from '../../framework/request.ts';
import { type HashSecret, KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { BodyReader, RequestHead } from '../body/body-reader.ts';
import { withoutControls } from '../control-headers.ts';
import { createOpenBody, headerOnlyRequest, type OpenBodyOptions } from './open-body.ts';

interface RequestReadersOptions extends Omit<OpenBodyOptions, 'hashSeed'> {
  readonly secret: HashSecret;
  /** Adds what plugins find in the headers. */
  readonly identified?: (head: RequestHead) => RequestHead;
}

/** How the requests of a listener are read, with a body and without. */
export function requestReaders({
  secret,
  identified = (head) => head,
  ...given
}: RequestReadersOptions): {
  readonly openBody: (head: RequestHead) => BodyReader;
  readonly headerOnly: (head: RequestHead) => InferenceRequest;
} {
  const { onIgnored, priorityOf } = given;
  const hash = new KeyedHash(secret);
  const openBody = createOpenBody({ ...given, hashSeed: secret });
  return {
    openBody: (head) => openBody(identified(head)),
    headerOnly: (head) => {
      const read = onIgnored === undefined ? head : withoutControls(head, onIgnored);
      return headerOnlyRequest(identified(read), priorityOf, hash);
    },
  };
}
