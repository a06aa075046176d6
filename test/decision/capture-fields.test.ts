import { expect, it } from 'vitest';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { HeldSum, RouteOptions } from '../../src/framework/routing.ts';
import { CaptureLines } from '../../src/journal/capture/capture-lines.ts';
import type {
  CapturedRequest,
  CaptureRecord,
  DecidedRecord,
} from '../../src/journal/capture/capture-record.ts';
import { recordOf } from '../../src/journal/capture/record-of.ts';
import { optionsOf } from '../../src/redecide/captured-inputs.ts';
import { expectNoFault } from '../house/faults.ts';
import { readText } from '../house/source-tree.ts';
import { makeRequest } from '../makers.ts';

const HELD: readonly HeldSum[] = [['b' as EndpointId, 2, 300, 40, 10, 1]];

/**
 * What a decision is made with, besides the request. A field that is added to `RouteOptions` must
 * be added here, or the types do not fit; then a capture must carry it, or `NOT_CAPTURED` says why
 * it does not.
 */
const EVERY_OPTION: Required<RouteOptions> = {
  subset: ['10.0.0.1:8000'],
  firstTokenVisible: false,
  endVisible: false,
  anywhere: false,
  scoresWanted: true,
  waited: { heldMs: 120, endpoint: undefined, cachedTokens: 0 },
  heldBefore: HELD,
  crowdedOut: true,
};
/** No decision is made `anywhere`, and the others change none. */
const NOT_CAPTURED: readonly (keyof RouteOptions)[] = ['anywhere', 'scoresWanted', 'waited'];

/** What the line of a decision says; a new field of the record must be added here, too. */
const EVERY_FIELD: Required<Omit<DecidedRecord, 'r'>> = {
  e: 'q',
  t: 5000,
  n: 7,
  subset: EVERY_OPTION.subset,
  firstTokenSeen: false,
  endSeen: false,
  waitedMs: 120,
  held: HELD,
  crowdedOut: true,
  adoptionsAgo: 1,
  changesAgo: 3,
  expected: [96, 32, 400],
  d: { endpoint: 'a', score: 0.5, prefill: 'b', by: 'canary' },
};

const REQUEST_FIELDS: Readonly<Record<keyof CapturedRequest, true>> = {
  id: true,
  model: true,
  streaming: true,
  outputTokensMax: true,
  promptTokens: true,
  blockTokens: true,
  blocks: true,
  rest: true,
  others: true,
  mediaItems: true,
  answerLength: true,
  rewrite: true,
  priority: true,
  fairness: true,
  objective: true,
  ttftSloMs: true,
  tpotSloMs: true,
  bodyBytes: true,
  headers: true,
};

function captured(): CaptureRecord {
  const lines = new CaptureLines();
  const text: string[] = [];
  lines.listen((bytes) => void text.push(new TextDecoder().decode(bytes)));
  lines.decided(EVERY_FIELD.t, EVERY_FIELD.n, {
    request: makeRequest({}),
    redacted: { headers: undefined, fairness: 'hash' },
    options: EVERY_OPTION,
    heldBefore: HELD,
    crowdedOut: true,
    adoptionsAgo: 1,
    changesAgo: 3,
    expected: { cachedTokens: 96, prefillCachedTokens: 32, estimatedOutputTokens: 400 },
    decision: EVERY_FIELD.d,
  });
  lines.drain();
  return recordOf(text.join('').trimEnd());
}

it('[T123] writes every field of a decision into a capture, and reads it again', () => {
  const { r: _request, ...fields } = captured() as DecidedRecord;
  expect(fields, 'capture-lines.ts of src/journal/capture writes it').toEqual(EVERY_FIELD);
});

it('[T123] decides again with every option that a decision depends on', () => {
  const wanted = Object.entries(EVERY_OPTION).filter(
    ([name]) => !NOT_CAPTURED.includes(name as keyof RouteOptions),
  );
  const options = optionsOf(captured() as DecidedRecord);
  expect(options, '`optionsOf` of src/redecide/captured-inputs.ts gives it').toEqual(
    Object.fromEntries(wanted),
  );
});

it('[T123] docs/trace-format.md names every field of a decision and of its request', () => {
  const [page = ''] = readText('docs/trace-format.md').split('\n# Traces: ');
  const { d, ...fields } = EVERY_FIELD;
  const names = [...Object.keys(fields), ...Object.keys(d), ...Object.keys(REQUEST_FIELDS)];
  const missing = names.filter((name) => !new RegExp(`\`${name}\``).test(page));
  expectNoFault(missing, 'write these fields of a capture into docs/trace-format.md');
});
