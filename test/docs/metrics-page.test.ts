import { it } from 'vitest';
import { LIMIT_REFUSALS } from '../../src/extproc/streams/open-streams.ts';
import { expectSameNames } from '../house/faults.ts';
import { readText } from '../house/source-tree.ts';

it('[T27] docs/metrics.md names every reason of pointsman_refused_requests_total', () => {
  const item = readText('docs/metrics.md').split('`pointsman_refused_requests_total`')[1] ?? '';
  const [own = ''] = item.split('\n- ');
  const documented = [...own.matchAll(/`([^`]+)` \(\d+/g)].map(([, reason = '']) => reason);
  const place = 'the reasons of pointsman_refused_requests_total in docs/metrics.md';
  expectSameNames(documented, LIMIT_REFUSALS, place);
});
