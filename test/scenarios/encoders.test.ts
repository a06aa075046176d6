import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeDecode, encodePrefillDecode } from './configs.ts';
import { binary, Scenario, type Server, servedBy, servers } from './scenario.ts';

/** llm-d's scenarios with separate encoders, as processes behind a real Envoy. */

const TEXT =
  'Which animal can be seen here, and in which season of the year was this picture made?';
const image = (name: string): object => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${Buffer.from(name).toString('base64')}` },
});
const VIDEO = { type: 'video_url', video_url: { url: 'data:video/mp4;base64,QUJD' } };
const AUDIO = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
const words = { type: 'text', text: TEXT };

const total = async (pool: readonly Server[]): Promise<number> =>
  (await Promise.all(pool.map(servedBy))).reduce((sum, count) => sum + count, 0);

describe.skipIf(binary === undefined).each([
  ['encoders, and prefill and decode together', encodeDecode, ['prefill-decode'], 'encode-decode'],
  [
    'encoders, prefill and decode, each apart',
    encodePrefillDecode,
    ['decode', 'prefill'],
    'encode-prefill-decode',
  ],
])('%s', (_, config, [engineRole = '', prefillRole], decision) => {
  const scenario = new Scenario();
  let encoders: readonly Server[];
  let engines: readonly Server[];
  beforeAll(async () => {
    const roles = [
      'encode',
      'encode',
      engineRole,
      ...(prefillRole === undefined ? [] : [prefillRole]),
    ];
    const all = await scenario.startServers(roles);
    encoders = all.slice(0, 2);
    engines = all.slice(2, 3);
    const sidecars = await scenario.withSidecars(engines, ['--ec-connector=ec-nixl']);
    await scenario.start(config, [...encoders, ...sidecars, ...all.slice(3)]);
  });
  afterAll(() => scenario.stop());

  it('[B95] sends text past the encoders', async () => {
    expect(await servers(engines, () => scenario.complete(TEXT))).toEqual(engines);
    expect(await total(encoders)).toBe(0);
  });

  it.each([
    ['an image', [words, image('a cat')], 1],
    ['the same image again', [words, image('a cat')], 1],
    ['two images', [words, image('a cat'), image('a bird')], 2],
    ['a video', [words, VIDEO], 1],
    ['sound', [words, AUDIO], 1],
  ])(
    '[B95] has %s encoded elsewhere, and answers from the engine',
    async (_name, content, items) => {
      const before = await total(encoders);
      expect(await servers(engines, () => scenario.chat(content))).toEqual(engines);
      expect((await total(encoders)) - before).toBe(items);
    },
  );

  it('[B95] counts these decisions by their type', async () => {
    const count = (type: string): Promise<number> =>
      scenario.metric('llm_d_epp_disagg_decision_total', `decision_type="${type}"`);
    const withEncoders = (await count(decision)) + (await count('encode-decode'));
    expect(decision === 'encode-decode' ? withEncoders / 2 : withEncoders).toBe(5);
  });
});
