import { describe, expect, it } from 'vitest';
import { makeEndpoint } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { ToldHeaders } from './told-headers.ts';

function planOf(plugins: string): PickerPlan {
  const text = `apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins: [${plugins}]\n`;
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

const NONE = planOf('{type: queue-scorer}');
const BY_ID = planOf('{type: session-affinity-scorer, parameters: {strategy: session_id}}');
const label = (header: string): string =>
  `{type: header-label-affinity-scorer, parameters: {headerName: ${header}, labelKey: zone}}`;

function toldBy(plan: PickerPlan, shadows: readonly PickerPlan[] = []): ToldHeaders {
  const told = new ToldHeaders((text) => `h(${text.length})`, shadows);
  told.follow(plan);
  told.seen(makeEndpoint('pod-a', { labels: { zone: 'north' } }));
  return told;
}

const sent = (headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(headers));

describe('headers in a capture', () => {
  it('are none where no plugin reads any', () => {
    const headers = sent({ authorization: 'key', 'x-session-id': 'abc', 'x-zone': 'north' });
    expect(toldBy(NONE).tell(headers)).toBeUndefined();
    expect(toldBy(BY_ID).tell(sent({ authorization: 'key' }))).toBeUndefined();
  });

  it('are hashes where only equality matters, names or not', () => {
    const told = toldBy(BY_ID);
    expect(told.tell(sent({ 'x-session-id': 'north' }))).toEqual({ 'x-session-id': '#h(5)' });
    expect(told.tell(sent({ 'x-session-id': '' }))).toEqual({ 'x-session-id': '' });
  });

  it('are in the open only while they are names that the pool has', () => {
    const told = toldBy(planOf(label('x-zone')));
    const north = sent({ 'x-zone': 'north' });
    expect(told.tell(north)).toEqual({ 'x-zone': 'north' });
    expect(told.tell(sent({ 'x-zone': 'nord' }))).toEqual({ 'x-zone': '#h(4)' });
    told.gone(makeEndpoint('pod-a').id);
    expect(told.tell(north)).toEqual({ 'x-zone': '#h(5)' });
  });

  it('are those of the shadows, too, and of the plan that takes over', () => {
    const told = toldBy(NONE, [planOf(label('x-session-id'))]);
    const headers = sent({ 'x-session-id': 'north', 'x-zone': 'north' });
    expect(told.tell(headers)).toEqual({ 'x-session-id': 'north' });
    told.follow(planOf(label('x-zone')));
    expect(told.tell(headers)).toEqual({ 'x-session-id': 'north', 'x-zone': 'north' });
    // Who looks for names must find them, whoever else looks for equals.
    told.follow(BY_ID);
    expect(told.tell(headers)).toEqual({ 'x-session-id': 'north' });
  });
});
