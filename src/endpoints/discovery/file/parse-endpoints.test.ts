import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../framework/error.ts';
import { FILE_BYTES_MAX, parseEndpoints } from './parse-endpoints.ts';

function issuesOf(text: string): readonly string[] {
  try {
    parseEndpoints(text, 'endpoints.yaml');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe('parseEndpoints', () => {
  it("reads the reference's file", () => {
    const text = `
endpoints:
- name: vllm-0
  namespace: default
  address: 127.0.0.1
  port: "8000"
  labels: {llm-d.ai/role: decode}
`;
    expect(parseEndpoints(text, 'f').endpoints).toEqual([
      {
        id: 'default/vllm-0',
        address: '127.0.0.1:8000',
        labels: new Map([['llm-d.ai/role', 'decode']]),
      },
    ]);
  });

  it('reads JSON, IPv6 with and without brackets, host names, numeric ports and roles', () => {
    const text = JSON.stringify({
      endpoints: [
        { name: 'a', address: 'fd00::1', port: 8000, role: 'prefill' },
        { name: 'a', namespace: 'other', address: '[fd00::2]', port: 8000, labels: { zone: 'z1' } },
        { name: 'b', address: 'vllm-0.vllm', port: '8000' },
      ],
    });
    const specs = parseEndpoints(text, 'f').endpoints;
    expect(
      specs.map(({ id, address, labels }) => [id, address, Object.fromEntries(labels)]),
    ).toEqual([
      ['default/a', '[fd00::1]:8000', { 'llm-d.ai/role': 'prefill' }],
      ['other/a', '[fd00::2]:8000', { zone: 'z1' }],
      ['default/b', 'vllm-0.vllm:8000', {}],
    ]);
  });

  it.each(['endpoints: []', 'endpoints:'])('[D427] takes an empty list: %s', (text) => {
    expect(parseEndpoints(text, 'f').endpoints).toEqual([]);
  });

  it('reads objectives and model rewrites', () => {
    const text = `
endpoints: []
objectives: {interactive: 10, batch: -1}
modelRewrites:
- {name: canary, models: [chat], targets: [{model: chat-v1, weight: 9}, {model: chat-v2, weight: 1}]}
- targets: [{model: base}]
`;
    const { priorities, rewrites } = parseEndpoints(text, 'f');
    expect(Object.fromEntries(priorities)).toEqual({ interactive: 10, batch: -1 });
    const canary = [
      { model: 'chat-v1', weight: 9 },
      { model: 'chat-v2', weight: 1 },
    ];
    expect(rewrites).toEqual([
      { rule: 'canary', models: ['chat'], targets: canary },
      { rule: 'modelRewrites[1]', models: [], targets: [{ model: 'base' }] },
    ]);
  });

  it.each([
    ['a priority that is no whole number', 'objectives: {a: 1.5}', 'objectives.a'],
    [
      'a rewrite to nothing',
      'modelRewrites: [{models: [a], targets: []}]',
      'modelRewrites[0].targets',
    ],
    [
      'a weight of nothing',
      'modelRewrites: [{targets: [{model: a, weight: 0}]}]',
      'modelRewrites[0].targets[0].weight',
    ],
    [
      'a key it does not know',
      'modelRewrites: [{model: a, targets: [{model: b}]}]',
      'modelRewrites[0].model: is not a known field',
    ],
  ])('refuses %s, and says where', (_what, text, place) => {
    expect(issuesOf(`endpoints: []\n${text}`).join()).toContain(place);
  });

  it('[G302] takes an IPv6 address in any spelling, and two spellings of one for the same', () => {
    const entry = (name: string, address: string): string =>
      `- {name: ${name}, address: "${address}", port: 8000}`;
    const list = (...entries: readonly string[]): string => ['endpoints:', ...entries].join('\n');
    const text = list(entry('a', 'FD00:0:0::1'), entry('b', '::FFFF:10.0.0.1'));
    expect(parseEndpoints(text, 'file').endpoints.map(({ address }) => address)).toEqual([
      '[fd00::1]:8000',
      '[::ffff:10.0.0.1]:8000',
    ]);
    expect(issuesOf(list(entry('a', 'fd00::1'), entry('b', '[FD00:0::1]')))).toEqual([
      'line 3, column 3: endpoints[1]: has the same address [fd00::1]:8000 as endpoints[0]; give it another',
    ]);
  });

  it('[G306] lists every problem at once, with its line and path', () => {
    const text = `
endpoints:
- {name: a, address: 10.0.0.256, port: 0}
- {name: "", address: 10.0.0.1, port: 8000, weight: 3}
- {name: c, address: "10.0.0.2:80", port: eight, labels: {rank: 0}}
- {name: d, address: 10.0.0.3, port: 8000, role: decode, labels: {llm-d.ai/role: prefill}}
- {name: e, address: 10.0.0.4, port: 8000}
- {name: e, address: 10.0.0.5, port: 8000}
- {name: f, address: 10.0.0.4, port: "8000"}
`;
    expect(issuesOf(text)).toEqual([
      'line 3, column 13: endpoints[0].address: is "10.0.0.256": make it an IPv4 or IPv6 address or a host name, without a port',
      'line 3, column 34: endpoints[0].port: is 0: make it a port from 1 to 65535',
      'line 4, column 4: endpoints[1].name: must not be empty',
      'line 4, column 45: endpoints[1].weight: is not a known field',
      'line 5, column 13: endpoints[2].address: is "10.0.0.2:80": make it an IPv4 or IPv6 address or a host name, without a port',
      'line 5, column 37: endpoints[2].port: is "eight": make it a port from 1 to 65535',
      'line 5, column 59: endpoints[2].labels.rank: must be a string, not a number',
      'line 6, column 44: endpoints[3].role: differs from the label llm-d.ai/role; keep one of the two',
      'line 8, column 3: endpoints[5]: has the same name default/e as endpoints[4]; give it another',
      'line 9, column 3: endpoints[6]: has the same address 10.0.0.4:8000 as endpoints[4]; give it another',
    ]);
  });

  it('[V622] takes an address to listen on, as the reference does, and no hexadecimal number', () => {
    const text = `
endpoints:
- {name: a, address: 0.0.0.0, port: 1}
- {name: c, address: 0x7f.1, port: 1}
`;
    expect(issuesOf(text)).toEqual([
      'line 4, column 13: endpoints[1].address: is "0x7f.1": make it an IPv4 or IPv6 address or a host name, without a port',
    ]);
  });

  it.each([
    ['an empty file', ''],
    ['a list at the top', '- a'],
    ['another key', 'endpoints: []\nendpoint: []'],
    ['a broken document', 'endpoints: [\n'],
    ['a key given twice', 'endpoints: []\nendpoints: []'],
    ['two documents', 'endpoints: []\n---\nendpoints: []'],
    ['a file too long', `endpoints: [] #${'x'.repeat(FILE_BYTES_MAX)}`],
    ['a bomb of aliases', bomb()],
  ])('refuses %s', (_, text) => {
    expect(issuesOf(text)).not.toEqual([]);
  });

  it('says where a document is broken', () => {
    expect(issuesOf('endpoints:\n- {name: a\n')[0]).toMatch(/^line \d+, column \d+: /);
  });
});

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const items =
      level === 0
        ? 'x'
        : Array(9)
            .fill(`*l${level - 1}`)
            .join(', ');
    return `- &l${level} [${items}]`;
  });
  return `endpoints:\n${levels.join('\n')}\n`;
}

it('[D427] reads what Go reads as not given, and a place of metrics that is that of the endpoint', () => {
  const entry = (more: object): string =>
    JSON.stringify({ endpoints: [{ name: 'a', address: '10.0.0.1', port: '8000', ...more }] });
  const bare = parseEndpoints(entry({}), 'f');
  for (const more of [
    { namespace: '', labels: null, metricsHost: '' },
    { namespace: null, labels: {}, metricsHost: '10.0.0.1:8000' },
  ]) {
    expect(parseEndpoints(entry(more), 'f')).toEqual(bare);
  }
  expect(() => parseEndpoints(entry({ metricsHost: '10.0.0.1:9000' }), 'f')).toThrow(
    'give the other port to metrics-data-source',
  );
});

it.each(['0', '257', 'eight'])('[Q322] refuses %s data-parallel ranks', (size) => {
  const labels = `{pointsman.dev/data-parallel-size: "${size}"}`;
  const text = `endpoints: [{name: a, address: 10.0.0.1, port: 80, labels: ${labels}}]`;
  const [issue] = issuesOf(text);
  expect(issue).toMatch(/data-parallel-size: .*must be the number of data-parallel ranks, from 1/);
});
