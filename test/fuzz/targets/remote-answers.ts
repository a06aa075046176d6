import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { packageFile } from '../../../src/files/folders.ts';
import type { Endpoint } from '../../../src/framework/endpoint.ts';
import { decodeSchedulerMessage } from '../../../src/remote/messages.ts';
import { checkDecision, toDecision } from '../../../src/remote/read-decision.ts';
import { makeEndpoint } from '../../makers.ts';
import { type FuzzTarget, promise } from '../target.ts';

const definitions = loadSync(packageFile('proto/pointsman/scheduler/v1/scheduler.proto'));
const service = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;
const run = service['Run'] as MethodDefinition<object, object>;
const message = (fields: object): Uint8Array => run.responseSerialize(fields);

const endpoints: readonly Endpoint[] = [0, 1, 2].map((slot) => makeEndpoint(`e${slot}`, { slot }));
const targets = [
  { slot: 0, score: 1 },
  { slot: 2, score: 0.5 },
];

/** Whatever a scheduler answers: a decision among the candidates, or a reason why not. */
export const remoteAnswers: FuzzTarget = {
  name: 'remote-answers',
  seeds: [
    message({ welcome: { version: 1, name: 'x', wantsEndpoints: true, headers: ['a'] } }),
    message({ decisions: [{ id: 'r1', targets }] }),
    message({ decisions: [{ id: 'r1', targets, prefillSlot: 1, headers: { 'x-a': 'b' } }] }),
    message({ decisions: [{ id: 'r1', refuse: true }, { id: 'r2' }] }),
  ],
  words: ['x-gateway-a', 'host', '\r\n', '\x12\x00', '\x00\x00\xc0\x7f', '\xff\xff\xff\xff\x0f'],
  run: (input) => {
    const decoded = decodeSchedulerMessage(input);
    if (decoded === undefined) return 'no message';
    const outcomes = decoded.decisions.slice(0, 20).map((each) => {
      const checked = checkDecision(each, { endpoints, all: true });
      if ('declined' in checked) return checked.declined;
      // One of the candidates has gone since.
      const decision = toDecision(checked, endpoints.slice(0, 2), 'fuzz');
      if ('declined' in decision) return decision.declined;
      const { primary } = decision;
      for (const [name, value] of decision.headers) {
        promise(
          !/[\r\n\0]/.test(name + value),
          () => `the header ${JSON.stringify([name, value])}`,
        );
      }
      if (primary.kind !== 'picked') return primary.kind;
      const scores = primary.targets.map(({ score }) => score);
      promise(scores.every(Number.isFinite), () => `scores ${scores.join()}`);
      promise(scores.length >= 1 && scores.length <= 2, () => `${scores.length} targets`);
      return `picked ${scores.length} ${decision.headers.size > 0}`;
    });
    return `${decoded.welcome === null} ${outcomes.slice(0, 3).join()}`;
  },
};
