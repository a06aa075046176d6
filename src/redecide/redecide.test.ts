import { describe, expect, it } from 'vitest';
import { madeCapture, SEED } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { type CaptureRecord } from '../journal/capture/capture-record.ts';
import { recordOf } from '../journal/capture/record-of.ts';
import { redecide } from './redecide.ts';
import { sameDecision } from './redecision.ts';

const EXACT = [
  'default',
  'reference-default',
  'round-robin',
  'random',
  'sticky',
  'lmetric',
  'dynamo',
  'preble',
  'virtual-tokens',
  'power-of-two',
];

const CONFIGURATION = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const BY_ID = '{strategy: session_id, sessionIdConfig: {sources: [{header: X-Session-Id}]}}';
const TWO_PROFILES = `schedulingProfiles:
- {name: first, plugins: [{pluginRef: queue-scorer}]}
- {name: second, plugins: [{pluginRef: round-robin-scorer}]}
`;

const DIVIDED = `plugins:
- type: assignment-informer
  parameters:
    reassignInterval: 1s
    hysteresis: 0
    classes: [{name: short, maxPromptTokens: 300}, {name: long}]
- type: assignment-filter
- type: round-robin-scorer
schedulingProfiles:
- {name: default, plugins: [{pluginRef: assignment-filter}, {pluginRef: round-robin-scorer}]}
`;

/** Plugins that read headers, each with what a capture may show of them. */
const READ_HEADERS: readonly (readonly [string, string, RegExp])[] = [
  ['sessions by id', `plugins: [{type: session-affinity-scorer, parameters: ${BY_ID}}]`, /^#/],
  [
    'a filter for sessions by id',
    `plugins: [{type: session-affinity-filter, parameters: ${BY_ID}}]`,
    /^#/,
  ],
  ['sessions by token', 'plugins: [{type: session-affinity-scorer}]', /^#|^ZT/],
  [
    'labels',
    'plugins: [{type: header-label-affinity-scorer, parameters: {headerName: X-Zone, labelKey: zone}}]',
    /^$|^#|^[012]$/,
  ],
  [
    'profiles',
    `plugins:
- {type: header-profile-handler, parameters: {defaultProfile: first}}
- {type: queue-scorer}
- {type: round-robin-scorer}
${TWO_PROFILES}`,
    /^#|^first$|^second$/,
  ],
  [
    'addresses',
    'plugins: [{type: header-based-testing-filter}]',
    /^(#.*|10\.0\.0\.\d+),#.*,( 10.0.0.\d+:8000|#.*)$/,
  ],
];

describe('a capture decided again', async () => {
  it.each(EXACT)('gives every decision of %s to the last bit', async (config) => {
    const records = madeCapture(config, 1500, 3);
    let decisions = 0;
    const changed = [];
    for await (const each of redecide(records, REDECIDE_OPTIONS)) {
      decisions += 1;
      if (!sameDecision(each.was, each.is)) changed.push(each);
    }
    expect(changed).toEqual([]);
    expect(decisions).toBe(1500);
  });

  it('[Q271] knows of each decision what endpoints were said to take', async () => {
    const records = madeCapture('default', 300, 3);
    const windows = records.flatMap((each) => (each.e === 'window' ? [each.tokens] : []));
    expect(new Set(windows)).toEqual(new Set([384, 704, undefined]));
    const otherwise = async (given: readonly CaptureRecord[]): Promise<number> => {
      const decided = await redecideAll(given, REDECIDE_OPTIONS);
      return decidedOtherwise(decided).length;
    };
    expect(await otherwise(records)).toBe(0);
    expect(await otherwise(records.filter(({ e }) => e !== 'window'))).toBeGreaterThan(0);
  });

  it.each(READ_HEADERS)(
    'gives every decision by headers to the last bit, and holds no more of them: %s',
    async (_name, config, open) => {
      const records = madeCapture(CONFIGURATION + config, 1000, 9);
      expect(decidedOtherwise(await redecideAll(records, REDECIDE_OPTIONS))).toEqual([]);
      expect(JSON.stringify(records)).not.toContain('private');
      const recorded = records.flatMap((each) => (each.e === 'q' ? [each.r.headers] : []));
      for (const headers of recorded) {
        const values = Object.values(headers ?? {});
        expect(values.length).toBeLessThan(2);
        for (const value of values) expect(value).toMatch(open);
      }
      const without = records.map((each) =>
        each.e === 'q' ? { ...each, r: { ...each.r, headers: undefined } } : each,
      );
      expect(decidedOtherwise(await redecideAll(without, REDECIDE_OPTIONS)).length).toBeGreaterThan(
        100,
      );
    },
  );

  it.each(['reference-default', 'random'])(
    '[Q288] gives every decision of %s to the last bit beside trials of an ejected endpoint, which are decided with fallbacks',
    async (name) => {
      const ejection = 'ejection: {enabled: true, backoffMs: 100, backoffMaxMs: 300}';
      const config = `${NAMED_CONFIGS.get(name)}\n${ejection}\n`;
      const records = madeCapture(config, 1500, 7, { failing: 'e3', churn: 0.1 });
      const decided = await redecideAll(records, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
      expect(decided).toHaveLength(1500);
      // Ejections matter: without them requests go elsewhere.
      const without = JSON.parse(
        JSON.stringify(records).replaceAll('"enabled":true', '"enabled":false'),
      ) as readonly CaptureRecord[];
      const others = await redecideAll(without, REDECIDE_OPTIONS);
      expect(decidedOtherwise(others).length).toBeGreaterThan(50);
    },
  );

  it('gives every decision to the last bit of a pool whose assignment follows the load', async () => {
    const records = madeCapture(CONFIGURATION + DIVIDED, 1500, 10, { churn: 0 });
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
    // The assignment matters: without changes decisions differ.
    const still = JSON.stringify(records).replaceAll('1s', '9h');
    const others = await redecideAll(
      JSON.parse(still) as readonly CaptureRecord[],
      REDECIDE_OPTIONS,
    );
    expect(decidedOtherwise(others).length).toBeGreaterThan(100);
  });

  it('gives every decision to the last bit where one configuration takes over from another', async () => {
    const weighed = (NAMED_CONFIGS.get('reference-default') ?? '').replace(
      'weight: 2',
      'weight: 5',
    );
    const configs = ['default', 'reference-default', weighed, 'preble'];
    const records = madeCapture(configs, 1500, 7);
    expect(records.filter(({ e }) => e === 'adopt')).toHaveLength(14);
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
    expect(decided).toHaveLength(1500);
    // The adopted configuration matters: without those records requests go elsewhere.
    const without = records.filter(({ e }) => e !== 'adopt');
    const others = decidedOtherwise(await redecideAll(without, REDECIDE_OPTIONS));
    expect(others.length).toBeGreaterThan(100);
  });

  it('learns from answers, too', async () => {
    // About one decision in a hundred; with few requests hardly any. Seed 3: 46.
    const records = madeCapture('default', 4000, 3);
    expect(records.filter(({ e }) => e === 'answer').length).toBeGreaterThan(100);
    const without = await redecideAll(
      records.filter(({ e }) => e !== 'answer'),
      REDECIDE_OPTIONS,
    );
    expect(decidedOtherwise(without).length).toBeGreaterThan(10);
  });

  it('has no score of a policy whose scores are hashes of prompts, which a guess could be compared with', () => {
    for (const config of ['rendezvous', 'consistent-hash', 'dual-map', 'default']) {
      const decisions = madeCapture(config, 50, 6).flatMap((each) =>
        each.e === 'q' ? [each.d] : [],
      );
      const scores = decisions.flatMap((each) => ('score' in each ? [each.score] : []));
      expect(scores.length).toBeGreaterThan(20);
      expect([config, scores.every(Number.isNaN)]).toEqual([config, config !== 'default']);
    }
  });

  it('starts again where a picker was restarted, and continues where only a file ended', async () => {
    const first = madeCapture('default', 300, 3);
    const second = madeCapture('preble', 200, 4, { coreSeed: SEED + 1 });
    const [head] = second;
    if (head?.e !== 'capture') throw new Error('no head');
    // Where a file of the second run ends.
    const next = { ...head, file: 1, t: second.findLast((each) => 't' in each)?.t ?? 0 };
    const files = [...first, ...second.slice(0, 900), next, ...second.slice(900)];
    const decided = await redecideAll(files, REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
    expect(decided.map(({ run, n }) => [run, n])).toEqual([
      ...Array.from({ length: 300 }, (_, n) => [1, n]),
      ...Array.from({ length: 200 }, (_, n) => [2, n]),
    ]);
    // With the same seed, too.
    const again = await redecideAll([...first, ...first], REDECIDE_OPTIONS);
    expect(decidedOtherwise(again)).toEqual([]);
    expect(again.at(-1)).toMatchObject({ run: 2, n: 299 });
  });

  it('holds no text, no hash of text, and no name of a tenant', async () => {
    const text = JSON.stringify(madeCapture('default', 50, 5));
    expect(text).not.toContain('tenant');
    expect(text).not.toContain('private');
    expect(text).not.toContain('secret');
    expect(text).not.toContain('words');
  });

  it('gives every decision to the last bit of what an earlier version wrote, with nothing left out', async () => {
    const lines = madeCapture('default', 500, 12).map((record) =>
      JSON.stringify(record.e === 'capture' ? { ...record, version: 2 } : record),
    );
    expect(lines.filter((line) => line.includes('"endSeen":true')).length).toBeGreaterThan(100);
    const decided = await redecideAll(lines.map(recordOf), REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
    expect(decided).toHaveLength(500);
  });

  it('is refused without its beginning', async () => {
    const [, ...rest] = madeCapture('default', 5, 6);
    await expect(redecideAll(rest, REDECIDE_OPTIONS)).rejects.toThrow(/no beginning/);
  });
});
