import { expect, it } from 'vitest';
import type { Visit } from '../../../test/support/sidecar/scripted-server.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import { complete, prefilledAt } from '../../../test/support/sidecar/sidecar-client.ts';
import { CHAT, said } from '../../../test/support/sidecar/walks.ts';

/** The sidecar reads some answers itself, and what encodings a client takes is none of theirs. */

const bed = sidecarBed();
const PATH = '/v1/chat/completions';
const encodings = ({ headers }: Visit): string | undefined =>
  headers['accept-encoding'] as string | undefined;
const clientHeaders = { 'accept-encoding': 'gzip, br' };

it('[V507] a prefilling server is asked for an answer without compression, the engine as the client asks', async () => {
  const sidecar = await bed.started();
  const headers = { ...clientHeaders, ...prefilledAt(bed.prefiller).headers };
  const answer = complete(sidecar, { headers });
  const prefill = await bed.prefiller.next();
  prefill.response.end('{"kv_transfer_params":{}}');
  const decode = await bed.engine.next();
  decode.response.end('{}');
  await answer;
  expect([prefill, decode].map(encodings)).toEqual(['identity', 'gzip, br']);
});

it('[V507] an engine that is to answer from its cache only, or a piece of an answer, is asked so, too', async () => {
  const cached = await bed.started({ connector: 'shared-storage' });
  const threshold = { ...CHAT, cache_hit_threshold: 0.8 };
  const headers = { ...clientHeaders, ...prefilledAt(bed.prefiller).headers };
  const first = complete(cached, { path: PATH, headers, body: threshold });
  const fromCache = await bed.engine.next();
  fromCache.response.end(said('stop'));
  await first;
  const chunked = await bed.started({ decodeChunkTokens: 4 });
  const second = complete(chunked, { path: PATH, headers: clientHeaders, body: CHAT });
  const piece = await bed.engine.next();
  piece.response.end(said('stop'));
  await (await second).text();
  expect([fromCache, piece].map(encodings)).toEqual(['identity', 'identity']);
});
