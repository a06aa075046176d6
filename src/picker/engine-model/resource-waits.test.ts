import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import { PRIOR_STEP_TIME, predictedTtftMs } from '../../cost-model/step-time.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';
import { EngineModel } from './engine-model.ts';

const LOAD = { requests: 3, pendingPrefillTokens: 0, contextTokens: 3000 };

/** A server for at most four adapters of one batch, which runs and lets wait these. */
function server({ running = [], waiting = [] }: Record<string, readonly string[]> = {}): Endpoint {
  const lora = { running: new Set(running), waiting: new Set(waiting), max: 4 };
  return makeEndpoint('pod', { attributes: [[LORA as AttributeKey<never>, lora]] });
}

/** What is learned of a server three times as slow as the prior from 100 requests for a model. */
function learned(model: string, endpoint: Endpoint, reported: Endpoint): StepTime {
  const engineModel = new EngineModel();
  engineModel.onEndpointChanged(reported, makeEndpoint('pod'));
  for (let n = 0; n < 100; n++) {
    const promptTokens = 100 + 37 * (n % 40);
    const request = makeRequest({ model, promptTokens });
    const routed = makeRouted(endpoint, { request, load: LOAD });
    const prompt = { promptTokens, uncachedTokens: promptTokens };
    engineModel.onFirstToken(routed, routed.at + 3 * predictedTtftMs(LOAD, prompt));
  }
  return engineModel.stepTime(endpoint);
}

const WITHOUT = makeEndpoint('pod');

it.each([
  ['none of which runs', server()],
  ['of which one runs', server({ running: ['other'] })],
  ['of which one waits', server({ running: ['other'], waiting: ['another'] })],
])(
  '[Q350] a request for the model itself shows the speed of a server with adapters, %s',
  (_, endpoint) => {
    expect(learned('base', endpoint, endpoint)).toEqual(learned('base', WITHOUT, WITHOUT));
  },
);

it('[Q350] a request for an adapter shows it only while the adapter runs there and none waits', () => {
  const reported = server({ running: ['mine'] });
  expect(learned('mine', reported, reported)).toEqual(learned('base', WITHOUT, WITHOUT));
  for (const endpoint of [server(), server({ running: ['mine'], waiting: ['other'] })]) {
    expect(learned('mine', endpoint, reported)).toEqual(PRIOR_STEP_TIME);
  }
});
