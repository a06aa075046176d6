import { describe, expect, it } from 'vitest';
import { SCORED } from '../../../test/support/session/remembering-router.ts';
import {
  BODY,
  requestBody,
  requestHeaders,
  setUp,
} from '../../../test/support/session/session-bed.ts';

describe('the subset of endpoints that a proxy names', () => {
  it('[P9] takes the latest subset, and answers 503 to an empty one', () => {
    const { send, routed } = setUp();
    const metadata = (subset: readonly string[]) => ({ metadata: { subset, served: undefined } });
    send(requestHeaders(metadata(['a'])), { ...requestBody(BODY), ...metadata(['b', 'c']) });
    expect(routed[0]?.options?.subset).toEqual(['b', 'c']);
    const none = setUp();
    none.send(requestHeaders(metadata([])), requestBody(BODY));
    expect(none.actions).toMatchObject([{ kind: 'immediate-response', status: 503 }]);
  });

  it('[D96] ignores every subset where it is configured so', () => {
    const { send, routed } = setUp({ ignoreSubset: true });
    const metadata = { metadata: { subset: ['b'], served: undefined } };
    send(requestHeaders(metadata), { ...requestBody(BODY), ...metadata });
    expect(routed[0]?.options?.subset).toBeUndefined();
  });

  it('[D40] shows the proxy from which endpoints it chose, where that is asked for', () => {
    const picks = [true, false, undefined].map((emitEndpointScores) => {
      const { send, actions } = setUp({ emitEndpointScores });
      send(requestHeaders(), requestBody(BODY));
      const [first] = actions;
      return first?.kind === 'answer-request-headers' ? first.pick?.scores : 'none';
    });
    expect(picks).toEqual([SCORED, undefined, undefined]);
  });
});
