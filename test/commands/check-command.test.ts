import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { configFileOf } from '../../src/catalogue/plan.ts';
import { checkCommand } from '../../src/commands/check-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'check-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, 'config.yaml');
writeFileSync(
  file,
  JSON.stringify({
    apiVersion: 'llm-d.ai/v1',
    kind: 'EndpointPickerConfig',
    plugins: [
      { type: 'decode-filter' },
      { type: 'queue-scorer' },
      { type: 'active-request-scorer', parameters: { requestTimeout: '2m' } },
      { type: 'load-aware-scorer' },
      { type: 'metrics-data-source', parameters: { scheme: 'https' } },
    ],
    schedulingProfiles: [
      {
        name: 'default',
        plugins: [
          { pluginRef: 'decode-filter' },
          { pluginRef: 'queue-scorer', weight: 2 },
          { pluginRef: 'active-request-scorer' },
          { pluginRef: 'metrics-data-source' },
        ],
      },
    ],
  }),
);

async function check(...args: readonly string[]): Promise<string> {
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  try {
    await checkCommand().parseAsync(args, { from: 'user' });
  } finally {
    write.mockRestore();
  }
  return written.join('');
}

describe('check', () => {
  test('[D9] takes a configuration as an argument and as --config, but not twice', async () => {
    expect(await check('--config', file)).toBe(await check(file));
    await expect(check(file, '--config', file)).rejects.toThrow('give one of them');
    await expect(check()).rejects.toThrow('--config: is missing');
  });

  test('[D391] lists unknown fields, wrong sections and unknown plugins in one go', async () => {
    const wrong = join(folder, 'wrong.yaml');
    const config = {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      pluginz: [],
      flowControl: { maxBytes: 'x' },
      plugins: [{ type: 'no-such-scorer' }, { type: 'queue-scorer', parameter: {} }],
      schedulingProfiles: [{ name: 'default', plugins: [{ pluginRef: 'queu-scorer' }] }],
    };
    writeFileSync(wrong, JSON.stringify(config));
    const error = await check(wrong).then(String, String);
    const named = error.split('\n').flatMap((line) => /^ {2}(\S+):/.exec(line)?.[1] ?? []);
    expect(named).toEqual([
      'plugins[1].parameter',
      'flowControl.maxBytes',
      'pluginz',
      'plugins[0].type',
      'schedulingProfiles[0].plugins[0].pluginRef',
    ]);
    // A document of another kind has no plugins that could be wrong.
    writeFileSync(wrong, JSON.stringify({ ...config, kind: 'Deployment' }));
    expect(await check(wrong).then(String, String)).not.toContain('no-such-scorer');
  });

  test('[D392] shows twenty notes with one reason, and how many more there are', async () => {
    const many = join(folder, 'many.json');
    const idle = Array.from({ length: 30 }, (_, at) => ({ type: 'queue-scorer', name: `q${at}` }));
    const config = {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      plugins: [{ type: 'load-aware-scorer' }, ...idle],
      schedulingProfiles: [{ name: 'default', plugins: [{ pluginRef: 'load-aware-scorer' }] }],
    };
    writeFileSync(many, JSON.stringify(config));
    const text = await check(many);
    expect(text.match(/^warning \(unused\): plugins/gm)).toHaveLength(20);
    expect(text).toContain('warning (unused): and 10 more like these; --json has all');
    expect(JSON.parse(await check(many, '--json')).notes).toHaveLength(30);
  });

  test('[V252] makes plugins of modules, and names the one that cannot be made', async () => {
    const module = join(folder, 'throwing-plugin.mjs');
    writeFileSync(
      module,
      `export const plugins = { scorers: [{
        type: 'tide-scorer',
        config: { parse: () => ({}) },
        create() { throw new Error('no tide table'); },
      }] };`,
    );
    const using = join(folder, 'tide.yaml');
    writeFileSync(
      using,
      'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins: [{type: tide-scorer}]\n',
    );
    await expect(check(using, '--plugin', module)).rejects.toThrow(
      'tide-scorer (scorer of type tide-scorer): its create() has thrown: Error: no tide table',
    );
  });

  test('[V252] makes each plugin once', async () => {
    const module = join(folder, 'counting-plugin.mjs');
    writeFileSync(
      module,
      `export const plugins = { scorers: [{
        type: 'counting-scorer',
        config: { parse: () => ({}) },
        create: () => {
          console.error('made');
          return { score: (endpoints) => endpoints.map(() => 1) };
        },
      }] };`,
    );
    const using = join(folder, 'counting.yaml');
    writeFileSync(
      using,
      'apiVersion: llm-d.ai/v1\nkind: EndpointPickerConfig\nplugins: [{type: counting-scorer}]\n',
    );
    const made = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    try {
      expect(await check(using, '--plugin', module)).toMatch(/^ok\n/);
      expect(made.mock.calls).toEqual([['made']]);
    } finally {
      made.mockRestore();
    }
  });

  test.each([
    ['() => [1]', 'it gave 1 scores for 2 endpoints'],
    ['async () => [1, 1]', 'it returned a promise, but a decision does not wait'],
    ['() => ({})', 'it returned no array of scores'],
    ['(endpoints) => endpoints.map(({ metrics }) => metrics.no.such)', 'Cannot read properties'],
  ])('[V333] has plugins of modules decide once: %s fails', async (score, fault) => {
    const module = join(folder, `scoring-${fault.length}.mjs`);
    const scorer = `{ type: 'moon-scorer', config: { parse: () => ({}) }, create: () => ({ score: ${score} }) }`;
    writeFileSync(module, `export const plugins = { scorers: [${scorer}] };`);
    const using = join(folder, 'moon.yaml');
    writeFileSync(
      using,
      'apiVersion: llm-d.ai/v1\nkind: EndpointPickerConfig\nplugins: [{type: moon-scorer}]\n',
    );
    const checked = check(using, '--plugin', module);
    await expect(checked).rejects.toThrow(`scorer moon-scorer: failed in score: ${fault}`);
  });

  test.each(['default', 'reference-default'])(
    '[V333] finds nothing wrong in %s beside a module',
    async (config) => {
      const module = join(folder, 'unused.mjs');
      writeFileSync(module, 'export const plugins = { scorers: [] };');
      expect(await check(config, '--plugin', module)).toMatch(/^ok\n/);
    },
  );

  test('[D173] an empty file is the default configuration, with a warning', async () => {
    const empty = join(folder, 'empty.yaml');
    writeFileSync(empty, '\n');
    const text = await check(empty);
    expect(text).toContain('predicted-cost-scorer');
    expect(text).toContain(
      `warning (empty): ${empty} is empty: the configuration default is in force`,
    );
  });

  test('[D173] a file of comments alone is refused, and so is a followed file that becomes empty', async () => {
    const comments = join(folder, 'comments.yaml');
    writeFileSync(comments, '# nothing\n');
    await expect(check(comments)).rejects.toThrow('has no configuration');
    const followed = await configFileOf(comments, []);
    await expect(followed?.load('')).rejects.toThrow('has no configuration');
  });

  test('[V249] a pipe that takes the place of a followed file is refused, and nothing waits for it', async () => {
    const path = join(folder, 'followed.yaml');
    writeFileSync(path, '# nothing\n');
    const followed = await configFileOf(path, []);
    expect(followed?.read()).toBe('# nothing\n');
    rmSync(path);
    execFileSync('mkfifo', [path]);
    expect(() => followed?.read()).toThrow('followed.yaml is not a file');
  });

  test('[D9] says in words what runs, in order', async () => {
    const text = await check(file);
    expect(text).toMatch(/^ok\n/);
    expect(text).toContain(`single-profile-handler runs the profile default.
Profile default:
  1. decode-filter keeps some of the endpoints.
  2. Each is rated by 2 × queue-scorer + 1 × active-request-scorer.
  3. max-score-picker picks among them.
`);
    expect(text).toContain('comes from metrics-data-source and core-metrics-extractor.');
  });

  test('[O380] says of each plugin what it is for: a policy is no source, a detector no filter', async () => {
    const flow = join(folder, 'flow.yaml');
    const types = ['concurrency-detector', 'round-robin-fairness-policy', 'decode-filter'];
    const written = {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      featureGates: ['flowControl'],
      plugins: types.map((type) => ({ type })),
      flowControl: {
        saturationDetector: { pluginRef: 'concurrency-detector' },
        defaultPriorityBand: { fairnessPolicyRef: 'round-robin-fairness-policy' },
      },
      schedulingProfiles: [{ name: 'default', plugins: [{ pluginRef: 'decode-filter' }] }],
    };
    writeFileSync(flow, JSON.stringify(written));
    const { plugins } = JSON.parse(await check(flow, '--json')) as {
      plugins: { type: string; kind: string }[];
    };
    const kinds = new Map(plugins.map(({ type, kind }) => [type, kind]));
    expect(types.map((type) => kinds.get(type))).toEqual([
      'saturation detector',
      'fairness policy',
      'filter',
    ]);
    expect(await check(flow)).toContain('\n  saturation detector  concurrency-detector ');
  });

  test('[O354] shows the series of an engine under the names that a configuration gives them', async () => {
    const described = join(folder, 'engine.yaml');
    const engine = {
      name: 'fooserve',
      queuedRequestsSpec: 'fooserve_queue_length',
      customMetrics: [{ attributeKey: 'queued-tokens', metricSpec: 'fooserve_queued_tokens' }],
    };
    writeFileSync(
      described,
      JSON.stringify({
        apiVersion: 'llm-d.ai/v1',
        kind: 'EndpointPickerConfig',
        plugins: [{ type: 'core-metrics-extractor', parameters: { engineConfigs: [engine] } }],
      }),
    );
    expect(await check(described)).toContain(`"engineConfigs":[${JSON.stringify(engine)}]`);
  });

  test('[D308] shows the weights of tiers that are in force', async () => {
    const weighed = join(folder, 'weights.yaml');
    const indexerConfig = { kvCacheBackendConfigs: [{ name: 'CPU', weight: 0.4 }] };
    writeFileSync(
      weighed,
      JSON.stringify({
        apiVersion: 'llm-d.ai/v1',
        kind: 'EndpointPickerConfig',
        plugins: [{ type: 'precise-prefix-cache-producer', parameters: { indexerConfig } }],
      }),
    );
    expect(await check(weighed)).toContain('"tierWeights":{"cpu":0.4}');
    const shown = JSON.parse(await check(weighed, '--json')) as { plugins: readonly object[] };
    expect(shown.plugins[0]).toMatchObject({ parameters: { tierWeights: { cpu: 0.4 } } });
  });

  test('[D9] names each part without effect, with its reason', async () => {
    const reasons = [...(await check(file)).matchAll(/^warning \((.*?)\): (\S+)/gm)].map(
      ([, reason = '', path = '']) => `${reason} ${path}`,
    );
    expect(reasons).toEqual([
      'obsolete plugins[2].parameters.requestTimeout',
      'unused plugins[3]:',
      'not-scheduling schedulingProfiles[0].plugins[3]',
    ]);
  });

  test('[D9] says what behaves otherwise than in the reference, where asked to', async () => {
    expect(await check(file)).not.toContain('differs from llm-d-router');
    const text = await check(file, '--like-reference');
    expect(text).toMatch(/differs from llm-d-router\n {2}queue-scorer, load-aware-scorer: /);
    expect(text).toContain('metrics-data-source: serve verifies the certificates of model ');
    expect(text).toMatch(/with every configuration\n {2}A request without a body goes to any /);
    const json = JSON.parse(await check('reference-default', '--like-reference', '--json')) as {
      readonly differences: readonly string[];
      readonly notes: readonly object[];
    };
    expect(json.notes).toEqual([]);
    expect(json.differences.length).toBeGreaterThan(1);
  });
});
