import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { BODY, gatedCores, inFlight } from '../../../test/support/gated-cores.ts';
import { ConfigError } from '../../framework/error.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import type { PickerPlan } from '../plan/picker-plan.ts';

describe('adopt', () => {
  it('decides by the new plan from the next request on, and keeps what is in flight', () => {
    const { gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    const first = picker.route(makeRequest({ id: 'a' }));
    picker.adopt(gated('two', 2));
    const second = picker.route(makeRequest({ id: 'b' }));
    expect([first.endpoint.id, second.endpoint.id]).toEqual(['e0', 'e2']);
    expect(inFlight(picker)).toBe(2);
    first.done('completed');
    second.done('completed');
    expect(inFlight(picker)).toBe(0);
  });

  it('reports the end of a request to the observers of its beginning, and to no others', () => {
    const { log, gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    const routed = picker.route(makeRequest());
    picker.adopt(gated('two', 0));
    log.length = 0;
    routed.done('completed');
    expect(log).toEqual(['one done']);
  });

  it('keeps a plugin with the same name, type and parameters running, and makes the others again', () => {
    const { log, gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    picker.adopt(gated('one', 1));
    expect(log).toEqual([]);
    picker.adopt(gated('two', 1));
    // The new plugin knows the pool before the old one is stopped.
    expect(log).toEqual(['start two', 'two + e0', 'two + e1', 'two + e2', 'stop one']);
    picker.stop();
    expect(log.at(-1)).toBe('stop two');
  });

  it('keeps what was learned of prefix caches when only a weight changes', () => {
    const { plan, start } = gatedCores();
    const weighed = (weight: number): PickerPlan =>
      plan(`plugins: [{ type: prefix-cache-scorer }, { type: queue-scorer }]
schedulingProfiles:
  - name: default
    plugins: [{ pluginRef: prefix-cache-scorer, weight: ${weight} }, { pluginRef: queue-scorer }]
`);
    const picker = start(weighed(1));
    const ids = Array.from({ length: 20 }, (_, at) => `block ${at}`);
    const prompt = chainBlockIds(ids, { seedText: 'm', blockTokens: 64 });
    const asked = (id: string) => makeRequest({ id, prompt, promptTokens: 64 * 20 });
    const first = picker.route(asked('first'));
    first.done('completed');
    for (let n = 0; n < 20; n++) {
      picker.adopt(weighed(3 + n));
      const again = picker.route(asked(`again ${n}`));
      expect(again.endpoint.id).toBe(first.endpoint.id);
      again.done('completed');
    }
  });

  it('decides a request by the core that prepared for it, and stops that core’s plugins only then', () => {
    const { log, gated, start, letOne } = gatedCores();
    const picker = start(gated('one', 0));
    const request = makeRequest();
    const routed: string[] = [];
    const route = (): void => void routed.push(picker.route(request).endpoint.id);
    expect(picker.prepare?.(request, BODY, route)).toBe(true);
    picker.adopt(gated('two', 1));
    picker.adopt(gated('three', 2));
    expect(log).not.toContain('stop one');
    // No request waited for the second.
    expect(log).toContain('stop two');
    letOne();
    expect(routed).toEqual(['e0']);
    expect(log.slice(-3)).toEqual(['decided by 0 with one', 'one routed', 'stop one']);
  });

  it('changes nothing when a plan cannot be run, and stops the sources that had started for it', () => {
    const { log, running, gated, plan, start } = gatedCores();
    const picker = start(gated('one', 0));
    const failing = plan(`dataLayer: { injectDefaults: false }
plugins:
  - { type: gate-source, name: good, parameters: { version: good } }
  - { type: gate-source, name: bad, parameters: { version: bad, fails: true } }
  - { type: queue-scorer }
`);
    expect(() => picker.adopt(failing)).toThrow('gate bad does not open');
    expect(log).toEqual(['start good', 'stop good']);
    expect([...running].map((run) => run.split('#')[0])).toEqual(['one']);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('[V222] changes nothing when plugins of a plan are refused, and stops those made for it', () => {
    const { log, running, gated, start } = gatedCores();
    let refuses = false;
    const checkPlugins = (): void => {
      if (refuses) throw new ConfigError('test', [{ path: 'plugins', message: 'cannot be used' }]);
    };
    const picker = start(gated('one', 0), { checkPlugins });
    refuses = true;
    expect(() => picker.adopt(gated('two', 1))).toThrow('cannot be used');
    expect(log).toEqual(['start two', 'stop two']);
    expect(() => picker.adopt(gated('one', 1))).toThrow('cannot be used');
    expect([...running].map((run) => run.split('#')[0])).toEqual(['one']);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('refuses two profiles for a handler of one, with a ConfigError', () => {
    const { gated, start } = gatedCores();
    const picker = start(gated('one', 0));
    const two = gated('two', 1);
    const [profile] = two.profiles;
    if (profile === undefined) throw new Error('no profile');
    const broken = { ...two, profiles: [profile, { ...profile, name: 'b' }] };
    expect(() => picker.adopt(broken)).toThrow(ConfigError);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('loses no request and stops no plugin too soon or twice, in any order of events', () => {
    const version = fc.constantFrom('one', 'two', 'three');
    const step = fc.oneof(
      fc.record({ kind: fc.constant('adopt' as const), version, slot: fc.nat({ max: 2 }) }),
      fc.record({ kind: fc.constantFrom('ask' as const, 'ready' as const, 'end' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { running, waiting, gated, start, letOne } = gatedCores();
        const picker = start(gated('one', 0));
        const open: { done(outcome: 'completed'): void }[] = [];
        let asked = 0;
        let routed = 0;
        for (const each of steps) {
          if (each.kind === 'adopt') picker.adopt(gated(each.version, each.slot));
          else if (each.kind === 'ready') letOne();
          else if (each.kind === 'end') open.shift()?.done('completed');
          else {
            const request = makeRequest({ id: `r${asked++}` });
            picker.prepare?.(request, BODY, () => {
              open.push(picker.route(request));
              routed += 1;
            });
          }
          expect(inFlight(picker)).toBe(open.length);
        }
        while (waiting.length > 0) letOne();
        expect(routed).toBe(asked);
        expect(running.size).toBe(1);
        for (const each of open) each.done('completed');
        expect(inFlight(picker)).toBe(0);
        picker.stop();
        expect(running.size).toBe(0);
      }),
      { numRuns: 300, seed: 20_261_121 },
    );
  });
});
