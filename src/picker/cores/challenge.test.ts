import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { BODY, gatedCores } from '../../../test/support/gated-cores.ts';
import { faultyPicker, planWith, profileOf } from '../../../test/support/plugins/faulty-plugins.ts';
import type { InferenceRequest } from '../../framework/request.ts';

describe('challenge', () => {
  const takesB = {
    name: 'two.yaml',
    takes: ({ id }: InferenceRequest) => id === 'b',
    onThrown: () => undefined,
  };

  it('gives the challenger the requests that it takes, and lets both observe all requests', () => {
    const { log, gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    expect(log).toEqual(['start two', 'two + e0', 'two + e1', 'two + e2']);
    const [first, second] = ['a', 'b'].map((id) => picker.route(makeRequest({ id })));
    expect([first?.endpoint.id, second?.endpoint.id]).toEqual(['e0', 'e2']);
    log.length = 0;
    first?.done('completed');
    second?.done('completed');
    expect(log.toSorted()).toEqual(['one done', 'one done', 'two done', 'two done']);
  });

  it('stops the plugins that only it had, but not before the requests that wait for it', () => {
    const { log, gated, start, letOne } = gatedCores();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    let routedTo: string | undefined;
    const request = makeRequest({ id: 'b' });
    picker.prepare?.(request, BODY, () => {
      routedTo = picker.route(request).endpoint.id;
    });
    picker.withdraw();
    expect(log).not.toContain('stop two');
    letOne();
    expect([routedTo, log.at(-1)]).toEqual(['e2', 'stop two']);
    expect(picker.route(makeRequest({ id: 'b' })).endpoint.id).toBe('e0');
  });

  it('shares plugins that both configure alike with the core in charge', () => {
    const { log, gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    picker.challenge(gated('one', 1), takesB);
    picker.withdraw();
    expect(log).toEqual([]);
  });

  it('ends when another plan is adopted', () => {
    const { gated, start, running } = gatedCores();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    picker.adopt(gated('three', 1));
    expect(picker.route(makeRequest({ id: 'b' })).endpoint.id).toBe('e1');
    expect(running.size).toBe(1);
  });

  it('changes nothing when it cannot be made', () => {
    const { plan, gated, start, running } = gatedCores();
    const picker = start(gated('one', 0));
    const broken = plan(
      `plugins: [{ type: gate-source, parameters: { version: x, fails: true } }]`,
    );
    expect(() => picker.challenge(broken, takesB)).toThrow('gate x does not open');
    expect([picker.route(makeRequest({ id: 'b' })).endpoint.id, running.size]).toEqual(['e0', 1]);
  });
});

it('[G210] reports the scheduler of a challenger while that decides, beside the one in charge', () => {
  const body = profileOf('queue-scorer', 'max-score-picker');
  const picker = faultyPicker(body, {});
  const plan = planWith(`${body}scheduler: { type: test-scheduler }\n`, {});
  expect(picker.challengerReplacement()).toBe(undefined);
  picker.challenge(plan, { name: 'mine.yaml', takes: () => true, onThrown: () => undefined });
  picker.route(makeRequest());
  expect(picker.challengerReplacement()).toMatchObject({
    challenger: 'mine.yaml',
    decided: 0,
    declined: new Map([['none', 1]]),
  });
  expect(picker.replacement()).toBe(undefined);
  picker.withdraw();
  expect(picker.challengerReplacement()).toBe(undefined);
});
