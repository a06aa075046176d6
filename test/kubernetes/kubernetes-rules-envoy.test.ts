import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP, installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { kubeconfigAccess } from '../../src/commands/api-access/kubeconfig-access.ts';
import { RULE_GROUPS } from '../../src/endpoints/discovery/kubernetes/rules/rule-objects.ts';
import { installRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { createRule } from '../support/kubernetes/rule-objects.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binaries = kubernetesOrSkip();
const [CURRENT] = RULE_GROUPS;
const envoy = await envoyBinary();

describe.skipIf(binaries === undefined || envoy === undefined)(
  'a canary by InferenceModelRewrite, behind a real Envoy, on a real API server',
  () => {
    let server: ApiServer;
    let upstream: Upstream;
    let stack: Stack;

    beforeAll(async () => {
      if (binaries === undefined) return;
      server = await startApiServer(binaries);
      upstream = await startUpstream();
      const { config } = server;
      await installInferencePools(server);
      await installRuleCrds(config, CURRENT);
      const hand = new ClusterHand(config);
      const [ip = '', port] = upstream.address.split(':');
      await hand.createReadyPod('a', { labels: { app: 'vllm' }, ip });
      await hand.createPool({
        selector: { matchLabels: { app: 'vllm' } },
        targetPorts: [{ number: Number(port) }],
      });
      await createRule(config, CURRENT, 'inferenceobjectives', 'interactive', { priority: 9 });
      const targets = [
        { modelRewrite: 'chat-v1', weight: 1 },
        { modelRewrite: 'chat-v2', weight: 1 },
      ];
      await createRule(config, CURRENT, 'inferencemodelrewrites', 'canary', {
        rules: [{ matches: [{ model: { value: 'chat' } }], targets }],
      });
      const pool = { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' };
      stack = await startStack(envoy ?? '', {
        envoy: 'envoy',
        endpoints: [],
        serve: { kubernetes: { access: kubeconfigAccess(config), pool }, seed: 5 },
      });
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
      await server?.stop();
    });

    it('divides requests from the first on, and answers each under the name it asked for', async () => {
      upstream.answer(({ bodySha256 }, response) => {
        const model = bodySha256 === sha256(body('chat-v1')) ? 'chat-v1' : 'chat-v2';
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ id: 'x', model }));
      });
      const post = (): Promise<Response> =>
        fetch(`${stack.url}/v1/completions`, {
          method: 'POST',
          body: body('chat'),
          headers: {
            'content-type': 'application/json',
            'x-gateway-inference-objective': 'interactive',
          },
        });
      // The first that has an endpoint at all is under the rules already.
      await eventually(
        async () => (await post()).status,
        (status) => status === 200,
      );
      for (let n = 0; n < 100; n++) {
        expect(await (await post()).json()).toEqual({ id: 'x', model: 'chat' });
      }
      const hashes = upstream.received.map(({ bodySha256 }) => bodySha256);
      const first = hashes.filter((hash) => hash === sha256(body('chat-v1'))).length;
      const second = hashes.filter((hash) => hash === sha256(body('chat-v2'))).length;
      expect(first + second).toBe(101);
      // Five standard deviations of a binomial are 25.
      expect(Math.abs(first - 50.5)).toBeLessThan(26);
      const metrics = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`);
      expect(await metrics.text()).toContain(
        `llm_d_epp_request_total{fairness_id="default-flow",model_name="chat",priority="9",target_model_name="chat-v1"} ${first}\n`,
      );
    });
  },
);

const body = (model: string): string =>
  JSON.stringify({ temperature: 0, model, prompt: 'a', max_tokens: 1 });
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
