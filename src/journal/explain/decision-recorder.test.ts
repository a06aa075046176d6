import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  drive,
  recordedPicker,
  type Seen,
  WITH_FILTERS,
} from '../../../test/support/explain-bed.ts';
import { isLong } from '../../../test/support/long-runs.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { ScoreTerms } from '../../framework/scheduling.ts';
import { explanationText } from './explanation-text.ts';

const REQUESTS = isLong ? 1500 : 500;

const THREE_AT_RANDOM = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}, {type: random-picker, parameters: {maxNumOfEndpoints: 3}}]
schedulingProfiles:
- {name: default, plugins: [{pluginRef: queue-scorer}, {pluginRef: random-picker}]}
`;

const ONE_AT_RANDOM = THREE_AT_RANDOM.replace('maxNumOfEndpoints: 3', 'maxNumOfEndpoints: 1');

describe('a recorded decision', () => {
  it.each([
    ['default', 1],
    ['reference-default', 2],
    [WITH_FILTERS, 3],
    ['random', 4],
    ['sticky', 5],
  ])('is explained with the scores it had, to the last bit', (config, seed) => {
    const test = recordedPicker(config);
    for (const { id, endpoint, score, candidates, targets } of drive(test, seed, REQUESTS)) {
      const explanation = test.explained(id);
      const profile = explanation?.profiles.at(-1);
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      expect(profile?.picked).toEqual(targets);
      const totals = profile?.endpoints.map((each) => [each.endpoint, each.total] as const);
      expect(new Map(totals)).toEqual(candidates);
    }
  });

  it('[P54] is explained with the terms of the pick to seven digits, which takes a quarter less memory', () => {
    const test = recordedPicker('default');
    const asked = new Map<string, ScoreTerms>();
    test.decisions.change = (decision) => {
      const { run } = decision.profiles.at(-1) ?? {};
      const [target] = decision.primary.kind === 'picked' ? decision.primary.targets : [];
      const scorer = run?.profile.scorers[0]?.scorer;
      if (run === undefined || target === undefined) throw new Error('a decision without a pick');
      const terms = scorer?.explain?.(target.endpoint, run.context) ?? {};
      asked.set(`own-${asked.size}`, terms);
      return decision;
    };
    const seen = drive(test, 6, 1500);
    const differing = seen.filter(({ id, endpoint }) => {
      const profile = test.explained(id)?.profiles.at(-1);
      const kept = profile?.endpoints.find((each) => each.endpoint === endpoint)?.terms[0];
      const terms = Object.values(asked.get(id) ?? {});
      expect(terms.length).toBeGreaterThan(10);
      expect(kept).toEqual(terms.map(Math.fround));
      return terms.some((term) => term !== Math.fround(term));
    });
    expect(differing.length).toBeGreaterThan(1000);
    const { bytes, decisions } = test.recorder.ring.stats();
    // 216 with all terms as 64-bit floats.
    expect(bytes / decisions).toBeLessThan(175);
  });

  it.each([
    ['default', 1],
    [WITH_FILTERS, 3],
    ['random', 4],
  ])(
    'of a large pool keeps the scores of the best endpoints and of the targets',
    (config, seed) => {
      const test = recordedPicker(config, { endpointsMax: 3 });
      let left = 0;
      for (const { id, endpoint, score, candidates, targets } of drive(test, seed, REQUESTS)) {
        const explanation = test.explained(id);
        const profile = explanation?.profiles.at(-1);
        expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
        const kept = profile?.endpoints ?? [];
        for (const each of kept) expect(candidates.get(each.endpoint)).toBe(each.total);
        const names = kept.map((each) => each.endpoint);
        expect(names).toEqual(expect.arrayContaining([...targets]));
        const others = [...candidates].filter(([name]) => !names.includes(name));
        expect(profile?.notKept).toBe(others.length);
        // As many as wanted are at least as good as any that is left out.
        const third = kept[2]?.total ?? Number.NEGATIVE_INFINITY;
        for (const [, total] of others) expect(total).toBeLessThanOrEqual(third);
        left += others.length;
      }
      expect(left).toBeGreaterThan(REQUESTS);
    },
  );

  it('[Q286] names the fallbacks of a trial, which were no candidates of the decision', () => {
    const test = recordedPicker(
      `${THREE_AT_RANDOM}ejection: {enabled: true, backoffMs: 200, backoffMaxMs: 400}\n`,
    );
    for (const name of ['pod-0', 'pod-1', 'pod-2', 'pod-3']) test.add(name);
    const trials: Seen[] = [];
    for (let n = 0; n < 400; n++) {
      test.clock.advanceTo(10 * n);
      // Takes the slot of the one before, which decisions in the ring may name.
      const added = `new-${n}`;
      test.add(added);
      const routed = test.picker.route(makeRequest({ id: `own-${n}` }));
      const failed = routed.endpoint.id === 'pod-2';
      const now = test.seen(`own-${n}`);
      if (failed && now.candidates.size === 1) trials.push(now);
      routed.done(failed ? 'failed' : 'completed');
      test.picker.pool.remove(added as EndpointId);
    }
    expect(trials.flatMap(({ targets }) => targets).join()).toContain('new-');
    expect(trials.length).toBeGreaterThan(1);
    for (const { id, endpoint, score, targets } of trials) {
      const explanation = test.explained(id);
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      expect(targets).toHaveLength(3);
      expect(explanation?.profiles.at(-1)?.picked).toEqual(targets);
      expect(explanation && explanationText(explanation, { all: false, time: '' })).toContain(
        `  it is on trial; fallbacks: 2: ${targets.slice(1).join(', ')}\n`,
      );
    }
  });

  it('[O491] says of a trial beside how many others it was made, also where it has no fallbacks', () => {
    const test = recordedPicker(
      `${ONE_AT_RANDOM}ejection: {enabled: true, backoffMs: 200, backoffMaxMs: 400}\n`,
    );
    for (const name of ['pod-0', 'pod-1', 'pod-2', 'pod-3']) test.add(name);
    const seen = Array.from({ length: 400 }, (_, n) => {
      test.clock.advanceTo(10 * n);
      const routed = test.picker.route(makeRequest({ id: `own-${n}` }));
      const failed = routed.endpoint.id === 'pod-2';
      const now = test.seen(`own-${n}`);
      routed.done(failed ? 'failed' : 'completed');
      return now;
    });
    const isTrial = ({ candidates }: Seen): boolean => candidates.size === 1;
    expect(seen.filter(isTrial).length).toBeGreaterThan(1);
    for (const each of seen) {
      const { id, endpoint, score } = each;
      const explanation = test.explained(id);
      // What stands behind it in the record is read, too.
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      expect(explanation?.besideTrial).toBe(isTrial(each) ? 3 : undefined);
      const text = explanation && explanationText(explanation, { all: false, time: '' });
      if (isTrial(each)) {
        expect(text).toContain(
          '\nout of     1 endpoint: the trial of an ejected one, beside 3 others\n',
        );
      } else expect(text).not.toContain('trial');
    }
  });

  it('[O491] says nothing of a trial where the one endpoint that is left is ejected', () => {
    const test = recordedPicker(`${ONE_AT_RANDOM}ejection: {enabled: true, backoffMs: 200}\n`);
    for (const name of ['pod-0', 'pod-1']) test.add(name);
    for (let n = 0; n < 100; n++) {
      test.clock.advanceTo(10 * n);
      const routed = test.picker.route(makeRequest({ id: `own-${n}` }));
      routed.done(routed.endpoint.id === 'pod-1' ? 'failed' : 'completed');
    }
    const ejected = test.picker.pool.get('pod-1' as EndpointId);
    expect(ejected && test.picker.ejector.ejected(ejected)).toBeDefined();
    test.picker.route(makeRequest({ id: 'alone' }), { subset: ['pod-1:8000'] });
    expect(test.explained('alone')).not.toHaveProperty('besideTrial');
    expect(test.explained('alone')).not.toHaveProperty('leftOut');
  });

  it('[O525] says how many others were ejected or full, and nothing where all could be had', () => {
    const test = recordedPicker(
      `${ONE_AT_RANDOM}ejection: {enabled: true, backoffMs: 60_000, backoffMaxMs: 60_000}\ncapacity: {maxConcurrency: 2}\n`,
    );
    for (const name of ['pod-0', 'pod-1', 'pod-2']) test.add(name);
    const subset = (name: string) => ({ subset: [`${name}:8000`] });
    test.picker.route(makeRequest({ id: 'first' })).done('completed');
    expect(test.explained('first')).not.toHaveProperty('leftOut');
    for (let n = 0; n < 30; n++) {
      const name = `pod-${n % 3}`;
      const routed = test.picker.route(makeRequest({ id: `own-${n}` }), subset(name));
      routed.done(name === 'pod-2' ? 'failed' : 'completed');
    }
    const sayOf = (id: string): string => {
      const explanation = test.explained(id);
      return explanation === undefined
        ? ''
        : explanationText(explanation, { all: false, time: '' });
    };
    test.picker.route(makeRequest({ id: 'one' }), subset('pod-0'));
    test.picker.route(makeRequest({ id: 'two' }), subset('pod-0'));
    expect(test.explained('two')).not.toHaveProperty('leftOut');
    test.picker.route(makeRequest({ id: 'three' }));
    expect(test.explained('three')?.leftOut).toEqual({ ejected: 1, late: 0, full: 1 });
    // What stands behind it in the record is read, too.
    expect(test.explained('three')?.outcome).toMatchObject({ kind: 'picked', endpoint: 'pod-1' });
    expect(sayOf('three')).toContain('\nout of     1 endpoint; left out: 1 ejected, 1 full\n');
    test.picker.route(makeRequest({ id: 'four' }));
    expect(() => test.picker.route(makeRequest({ id: 'five' }), subset('pod-0'))).toThrow();
    expect(sayOf('five')).toContain('\nout of     0 endpoints; left out: 1 full\n');
  });

  it('is explained by the plan that made it, whatever plans came after', () => {
    const plans = ['reference-default', WITH_FILTERS, 'sticky', 'default'];
    const test = recordedPicker('default');
    const seen = drive(test, 8, REQUESTS, (n) => {
      // Often enough that a plan's numbers would run over, were they to go on from those before it.
      if (n % 7 === 6) test.adopt(plans[((n - 6) / 7) % plans.length] ?? '');
    });
    for (const { id, endpoint, score, candidates } of seen) {
      const explanation = test.explained(id);
      expect(explanation?.outcome).toMatchObject({ kind: 'picked', endpoint, score });
      const totals = explanation?.profiles.at(-1)?.endpoints.map((e) => [e.endpoint, e.total]);
      expect(totals).toHaveLength(candidates.size);
      for (const [name, total] of totals ?? []) expect(candidates.get(String(name))).toBe(total);
    }
  });

  it('is found by our id and by that of the client, the latest of equals', () => {
    const test = recordedPicker('default');
    test.add('a');
    const headers = new Map([['x-request-id', 'twice']]);
    for (const id of ['one', 'two', 'three']) {
      test.picker.route(makeRequest({ id, ...(id !== 'three' && { headers }) }));
    }
    expect(test.explained('one')?.number).toBe(0);
    expect(test.explained('twice')?.id).toBe('two');
    expect(test.explained('nobody')).toBeUndefined();
    expect(test.explained('')).toBeUndefined();
  });

  it.each([
    '8f0c6b1e-9d0f-4f0c-8d33-5b1d2c0e4a77',
    '8F0C6B1E-9D0F-4F0C-8D33-5B1D2C0E4A77',
    '8f0c6b1:-9d0f-4f0c-8d33-5b1d2c0e4a77',
    '8f0c6b1e-9d0f4-f0c-8d33-5b1d2c0e4a77',
    '8f0c6b1e-9d0f-4f0c-8d33-5b1d2c0e4a-7',
    'ünïcödé – 1',
    'x'.repeat(300),
  ])('is found by an id of any form: %s', (id) => {
    const test = recordedPicker('default');
    test.add('a');
    test.picker.route(makeRequest({ id: 'ours', headers: new Map([['x-request-id', id]]) }));
    test.picker.route(makeRequest({ id: 'ours-2' }));
    expect(test.explained(id)).toMatchObject({ id: 'ours', number: 0 });
    const kept = id.replace('–', '?').slice(0, 160);
    expect(test.explained(id)?.requestId).toBe(kept);
    expect(test.explained('ours-2')?.number).toBe(1);
  });
});
