import { it } from 'vitest';
import { LIMIT_REFUSALS } from '../../src/extproc/streams/open-streams.ts';
import { ERRORS } from '../../src/framework/error.ts';
import { MODEL_SERVER_ERROR } from '../../src/journal/metrics/metrics-subscriber.ts';
import { expectSameNames } from '../house/faults.ts';
import { readText } from '../house/source-tree.ts';

it('[T90] docs/metrics.md names each `error_code` of request_error_total, and no other', () => {
  const [, after = ''] = readText('docs/metrics.md').split('\n`error_code` is ');
  const [list = ''] = after.split('. ');
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, label = '']) => label);
  const labels = new Set(Object.values(ERRORS).map(({ label }) => label));
  const known = [...labels, MODEL_SERVER_ERROR];
  expectSameNames(named, known, 'the values of `error_code` in docs/metrics.md');
});

it('[T27] docs/metrics.md names every reason of pointsman_refused_requests_total', () => {
  const item = readText('docs/metrics.md').split('`pointsman_refused_requests_total`')[1] ?? '';
  const [own = ''] = item.split('\n- ');
  const documented = [...own.matchAll(/`([^`]+)` \(\d+/g)].map(([, reason = '']) => reason);
  const place = 'the reasons of pointsman_refused_requests_total in docs/metrics.md';
  expectSameNames(documented, LIMIT_REFUSALS, place);
});
