/** Configurations with which llm-d tests its picker in a cluster, by what their profiles do. */

const prefix = (parameters: object) => ({
  type: 'approx-prefix-cache-producer',
  parameters: { maxPrefixBlocksToMatch: 256, lruCapacityPerServer: 256, ...parameters },
});
const byPrefix = { pluginRef: 'prefix-cache-scorer', weight: 2 };
const best = { pluginRef: 'max-score-picker' };
const plugins = (...types: readonly string[]): readonly object[] => types.map((type) => ({ type }));
const profile = (name: string, ...refs: readonly (string | object)[]): object => ({
  name,
  plugins: refs.map((each) => (typeof each === 'string' ? { pluginRef: each } : each)),
});
/** A prompt is computed elsewhere where 16 tokens of it are not cached at the decoding server. */
const decider = { type: 'prefix-based-pd-decider', parameters: { nonCachedTokens: 16 } };
const handler = (deciders: object): object => ({
  type: 'disagg-profile-handler',
  parameters: { deciders },
});

export const simple: object = {
  plugins: [
    prefix({}),
    ...plugins(
      'prefix-cache-scorer',
      'decode-filter',
      'max-score-picker',
      'single-profile-handler',
    ),
  ],
  schedulingProfiles: [profile('default', 'decode-filter', best, byPrefix)],
};

export const prefillDecode: object = {
  plugins: [
    prefix({ blockSizeTokens: 16 }),
    ...plugins('vllmhttp-parser', 'prefix-cache-scorer', 'prefill-filter', 'decode-filter'),
    ...plugins('max-score-picker'),
    decider,
    handler({ prefill: 'prefix-based-pd-decider' }),
  ],
  requestHandler: { parsers: [{ pluginRef: 'vllmhttp-parser' }] },
  schedulingProfiles: [
    profile('prefill', 'prefill-filter', best, byPrefix),
    profile('decode', 'decode-filter', best, byPrefix),
  ],
};

export const encodeDecode: object = {
  plugins: [
    ...plugins('encode-filter', 'decode-filter', 'max-score-picker'),
    ...plugins('always-disagg-multimodal-decider'),
    handler({ encode: 'always-disagg-multimodal-decider' }),
  ],
  schedulingProfiles: [profile('encode', 'encode-filter'), profile('decode', 'decode-filter')],
};

export const encodePrefillDecode: object = {
  plugins: [
    prefix({ blockSizeTokens: 16 }),
    ...plugins('encode-filter', 'prefill-filter', 'decode-filter', 'prefix-cache-scorer'),
    ...plugins('max-score-picker', 'always-disagg-multimodal-decider'),
    decider,
    handler({
      encode: 'always-disagg-multimodal-decider',
      prefill: 'prefix-based-pd-decider',
    }),
  ],
  schedulingProfiles: [
    profile('encode', 'encode-filter'),
    profile('prefill', 'prefill-filter', best, byPrefix),
    profile('decode', 'decode-filter', best, byPrefix),
  ],
};

export const anyServer: object = {
  plugins: plugins('max-score-picker', 'single-profile-handler'),
  schedulingProfiles: [profile('default', best)],
};

/** Ranks are reached through the port of the first one. */
export const dataParallel = (primaryPort: number): object => ({
  plugins: [
    ...plugins('decode-filter', 'max-score-picker'),
    { type: 'data-parallel-profile-handler', parameters: { primaryPort } },
  ],
  schedulingProfiles: [profile('default', 'decode-filter', best)],
});

/** What is cached is known from events of the engines, and tokens from one of them. */
export const kvEvents = (engine: string, eventsPort: number): object => ({
  plugins: [
    {
      type: 'token-producer',
      parameters: { modelName: 'food-review', vllm: { url: `http://${engine}` } },
    },
    {
      type: 'precise-prefix-cache-scorer',
      parameters: {
        tokenProcessorConfig: { blockSize: 16, hashSeed: '42' },
        kvEventsConfig: { podDiscoveryConfig: { socketPort: eventsPort } },
      },
    },
    ...plugins('decode-filter', 'max-score-picker', 'disagg-profile-handler'),
  ],
  schedulingProfiles: [
    profile('decode', 'decode-filter', best, {
      pluginRef: 'precise-prefix-cache-scorer',
      weight: 10,
    }),
  ],
});
