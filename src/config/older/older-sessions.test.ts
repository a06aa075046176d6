import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';

function load(config: object): PickerPlan {
  const text = JSON.stringify({ apiVersion: 'llm-d.ai/v1alpha1', ...config });
  return loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
}

const textsOf = ({ notes }: PickerPlan): string => notes.map(({ text }) => text).join('\n');

describe.each(['session-affinity-filter', 'session-affinity-scorer'])(
  '%s with the strategy session_id_header',
  (type) => {
    const of = (parameters: object, ...others: readonly object[]): PickerPlan =>
      load({ plugins: [{ type, parameters }, { type: 'queue-scorer' }, ...others] });
    const newest = (sources: readonly object[], more: object = {}): object => ({
      strategy: 'session_id',
      sessionIdConfig: { sources, ...more },
    });

    test('[D568] has its ids in the header that it names, for the time that it names', () => {
      const older = of({
        strategy: 'session_id_header',
        headerName: 'x-chat',
        profileName: 'prefill',
        evictionTtlSeconds: 60,
      });
      const same = { ...newest([{ header: 'x-chat' }], { evictionTtlSeconds: 60 }) };
      expect(older.effective).toEqual(of({ ...same, profileName: 'prefill' }).effective);
      expect(textsOf(older)).toContain('write strategy: session_id');
    });

    test('[D568] has them in x-session-token by default, and then in what agents send', () => {
      const agents = { type: 'agent-identity' };
      const older = of({ strategy: 'session_id_header' }, agents);
      const sources = [{ header: 'x-session-token' }, { attribute: 'agent-identity' }];
      expect(older.effective).toEqual(of(newest(sources), agents).effective);
      const alone = of({ strategy: 'session_id_header' });
      expect(alone.effective).toEqual(of(newest([{ header: 'x-session-token' }])).effective);
    });
  },
);

test('[D569] the one parser of requestHandler.parser is the first of its parsers', () => {
  const plugins = [{ type: 'vllmhttp-parser' }, { type: 'queue-scorer' }];
  const pluginRef = 'vllmhttp-parser';
  const older = load({ plugins, requestHandler: { parser: { pluginRef } } });
  const newest = load({ plugins, requestHandler: { parsers: [{ pluginRef }] } });
  expect(older.effective).toEqual(newest.effective);
  expect(textsOf(older)).toContain('requestHandler.parser is of an older release');
  const both = { parser: { pluginRef }, parsers: [{ pluginRef }] };
  expect(() => load({ plugins, requestHandler: both })).toThrow(/requestHandler\.parser/);
});
