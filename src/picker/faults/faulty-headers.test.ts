import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  type FaultyPlugins,
  faultyPicker,
  profileOf,
} from '../../../test/support/plugins/faulty-plugins.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { PluginFault } from '../../framework/error.ts';
import type { Decision } from '../../framework/scheduling.ts';

type Headers = ReadonlyMap<string, string>;
type Given = readonly [name: unknown, value: unknown];

const withTest = (type: string): string =>
  `plugins: [{ type: queue-scorer }, { type: ${type} }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }] }]
`;

function decisionFor(endpoint: Endpoint | undefined, headers: Headers): Decision {
  if (endpoint === undefined) throw new Error('there is no endpoint');
  const targets = [{ endpoint, score: 1 }];
  const primary = { kind: 'picked', profile: 'mine', targets } as const;
  return { primary, profiles: [primary], headers };
}

/** The plugins that may add headers to a request or an answer, and their configurations. */
const KINDS: Readonly<Record<string, [string, (headers: Headers) => FaultyPlugins]>> = {
  scheduler: [
    `${profileOf('queue-scorer')}scheduler: { type: test-scheduler }\n`,
    (headers) => ({ scheduler: { schedule: ([first]) => decisionFor(first, headers) } }),
  ],
  handler: [
    withTest('test-handler'),
    (headers) => ({
      handler: (profiles) => ({
        next: ({ length }) => (length === 0 ? profiles.get('default') : undefined),
        conclude: ([primary]) => ({ primary, profiles: [primary], headers }) as never,
      }),
    }),
  ],
  source: [
    withTest('test-source'),
    (headers) => ({ source: () => ({ requestHeaders: () => headers, stop: () => undefined }) }),
  ],
  observer: [
    profileOf('test-scorer', 'max-score-picker'),
    (headers) => ({
      scorer: { score: (all) => all.map(() => 1), responseHeaders: () => headers as never },
    }),
  ],
};

/** The headers that a request and its answer get, and which calls of plugins have failed. */
function headersBy(kind: string, given: Given) {
  const faults: PluginFault[] = [];
  const [body, plugins] = KINDS[kind] ?? ['', () => ({})];
  const headers = new Map([given]) as unknown as Headers;
  const picker = faultyPicker(body, plugins(headers), { onFault: (fault) => faults.push(fault) });
  const routed = picker.route(makeRequest());
  routed.served('10.0.0.1:80');
  const got = [...routed.headers, ...routed.responseHeaders()];
  routed.done('completed');
  return { got, failed: faults.length };
}

const BAD: readonly (readonly [string, Given])[] = [
  ['a number', ['x-a', 5]],
  ['nothing', ['x-a', undefined]],
  ['a line end', ['x-a', 'b\r\nc: d']],
  ['a zero', ['x-a', '\0']],
  ['a name with a line end', ['x-a\nb', 'c']],
  ['an empty name', ['', 'c']],
  ['a name that is a number', [7, 'c']],
];

describe.each(Object.keys(KINDS))('headers of a %s', (kind) => {
  it.each(BAD)('[V456] are left out, and cost no request, where there is %s', (_what, given) => {
    expect(headersBy(kind, given)).toEqual({ got: [], failed: 1 });
  });

  it('[V456] are set where they can be sent', () => {
    const given: Given = ['X-Tenant', 'a\tb é→'];
    expect(headersBy(kind, given)).toEqual({ got: [given], failed: 0 });
  });
});
