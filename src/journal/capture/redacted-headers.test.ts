import { describe, expect, it } from 'vitest';
import { makeEndpoint } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE, SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { RedactedHeaders } from './redacted-headers.ts';

function planOf(plugins: string): PickerPlan {
  const text = `apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins: [${plugins}]\n`;
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

const NONE = planOf('{type: queue-scorer}');
const BY_ID = planOf('{type: session-affinity-scorer, parameters: {strategy: session_id}}');
const label = (header: string): string =>
  `{type: header-label-affinity-scorer, parameters: {headerName: ${header}, labelKey: zone}}`;

function headersOf(plan: PickerPlan, shadows: readonly PickerPlan[] = []): RedactedHeaders {
  const headers = new RedactedHeaders((text) => `h(${text.length})`, shadows);
  headers.usePlan(plan);
  headers.setEndpoint(makeEndpoint('pod-a', { labels: { zone: 'north' } }));
  return headers;
}

const sent = (headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(headers));

describe('headers in a capture', () => {
  it('are none where no plugin reads any', () => {
    const headers = sent({ authorization: 'key', 'x-session-id': 'abc', 'x-zone': 'north' });
    expect(headersOf(NONE).redact(headers)).toBeUndefined();
    expect(headersOf(BY_ID).redact(sent({ authorization: 'key' }))).toBeUndefined();
  });

  it('[D41] have the one preference that decides, and no other', () => {
    const prefer = 'secret; x, If-Available';
    expect(headersOf(NONE).redact(sent({ prefer }))).toEqual({ prefer: 'if-available' });
    expect(headersOf(NONE).redact(sent({ prefer: 'secret' }))).toBeUndefined();
  });

  it('are hashes where only equality matters, names or not', () => {
    const redacted = headersOf(BY_ID);
    expect(redacted.redact(sent({ 'x-session-id': 'north' }))).toEqual({ 'x-session-id': '#h(5)' });
    expect(redacted.redact(sent({ 'x-session-id': '' }))).toEqual({ 'x-session-id': '' });
  });

  it('are in the open only while they are names that the pool has', () => {
    const redacted = headersOf(planOf(label('x-zone')));
    const north = sent({ 'x-zone': 'north' });
    expect(redacted.redact(north)).toEqual({ 'x-zone': 'north' });
    expect(redacted.redact(sent({ 'x-zone': 'nord' }))).toEqual({ 'x-zone': '#h(4)' });
    redacted.removeEndpoint(makeEndpoint('pod-a').id);
    expect(redacted.redact(north)).toEqual({ 'x-zone': '#h(5)' });
  });

  it('[O530] are those of the plan that decides the request, also where others were adopted since', () => {
    const redacted = headersOf(planOf(label('x-zone')));
    const headers = sent({ 'x-session-id': 'abc', 'x-zone': 'north' });
    redacted.usePlan(BY_ID);
    redacted.usePlan(NONE);
    expect(redacted.redact(headers)).toBeUndefined();
    expect(redacted.redact(headers, 1)).toEqual({ 'x-session-id': '#h(3)' });
    expect(redacted.redact(headers, 2)).toEqual({ 'x-zone': 'north' });
    // What is kept of earlier plans has a bound.
    for (let n = 0; n < 20; n++) redacted.usePlan(NONE);
    expect(redacted.redact(headers, 22)).toBeUndefined();
  });

  it('are those of the shadows, too, and of the plan that takes over', () => {
    const redacted = headersOf(NONE, [planOf(label('x-session-id'))]);
    const headers = sent({ 'x-session-id': 'north', 'x-zone': 'north' });
    expect(redacted.redact(headers)).toEqual({ 'x-session-id': 'north' });
    redacted.usePlan(planOf(label('x-zone')));
    expect(redacted.redact(headers)).toEqual({ 'x-session-id': 'north', 'x-zone': 'north' });
    // A plugin that compares names needs them, even where another looks only for equal values.
    redacted.usePlan(BY_ID);
    expect(redacted.redact(headers)).toEqual({ 'x-session-id': 'north' });
  });

  it('[D56] are hashes of the cookies that plugins read, and nothing of other cookies', () => {
    const cookie = (name: string): string =>
      `{type: session-id-producer, name: ${name}, parameters: {cookieName: ${name}}}`;
    const redacted = headersOf(planOf(`${cookie('sid')}, ${cookie('chat')}, {type: queue-scorer}`));
    const headers = sent({ cookie: 'token=secret; sid=12345; chat=123' });
    expect(redacted.redact(headers)).toEqual({ cookie: 'sid=#h(5); chat=#h(3)' });
    expect(redacted.redact(sent({ cookie: 'token=secret' }))).toEqual({ cookie: '' });
  });

  it('[G283] are those that a scheduler in place of the profiles reads, too', () => {
    const text = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
scheduler: {type: remote, address: 'unix:/tmp/none.sock', headers: [X-Zone]}
`;
    const plan = loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
    const headers = sent({ 'x-zone': 'north', 'x-tier': 'gold' });
    expect(headersOf(plan).redact(headers)).toEqual({ 'x-zone': 'north' });
    expect(headersOf(NONE, [plan]).redact(sent({ 'x-zone': 'gold' }))).toEqual({
      'x-zone': '#h(4)',
    });
  });
});
