import { describe, expect, it, test } from 'vitest';
import { RoutingError } from '../../framework/error.ts';
import { hasPreference } from '../../framework/preference.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { answerWithEndpoint, asksForEndpoint } from './endpoint-only.ts';

const headers = (prefer: string): ReadonlyMap<string, string> => new Map([['prefer', prefer]]);
const ANSWERS = { answersEndpointOnly: () => true };

function refusal(prefer: string, endOfStream: boolean, options = {}): string {
  try {
    return String(asksForEndpoint(headers(prefer), endOfStream, options));
  } catch (error) {
    return error instanceof RoutingError ? error.code : String(error);
  }
}

test.each([
  ['reserve-endpoint', true],
  ['wait=5, Reserve-Endpoint ; x=1', true],
  ['reserve-endpoint=1', true],
  ['reserve-endpoints', false],
  ['if-available', false],
  ['', false],
])('[G165] the preference reserve-endpoint is in %j: %s', (prefer, has) => {
  expect(hasPreference(headers(prefer), 'reserve-endpoint')).toBe(has);
});

describe('a request that asks for an endpoint alone', () => {
  it('[G165] is answered where a plugin lets it ask, and has a body', () => {
    expect(refusal('reserve-endpoint', false, ANSWERS)).toBe('true');
    expect(refusal('reserve-endpoint', false)).toBe('internal');
    expect(refusal('reserve-endpoint', true, ANSWERS)).toBe('invalid-request');
    expect(refusal('if-available', true)).toBe('false');
  });

  it('[G165] gets the endpoint, and the headers that its server would have got', () => {
    const actions: StreamAction[] = [];
    const ended: string[] = [];
    const routed = {
      destinations: ['10.0.0.1:8000', '10.0.0.2:8000'],
      headers: new Map([
        ['x-prefiller-host-port', '10.0.0.9:8000'],
        ['x-request-id', 'r'],
      ]),
      done: (outcome: string) => void ended.push(outcome),
    };
    answerWithEndpoint(routed as unknown as RoutedRequest, (action) => void actions.push(action));
    expect(ended).toEqual(['completed']);
    expect(actions).toEqual([
      {
        kind: 'immediate-response',
        status: 204,
        headers: [
          ['x-llm-d-reserved-host-port', '10.0.0.1:8000'],
          ['preference-applied', 'reserve-endpoint'],
          ['x-prefiller-host-port', '10.0.0.9:8000'],
        ],
        body: '',
      },
    ]);
  });
});
