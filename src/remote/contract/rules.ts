import type { DecisionMessage } from '../messages.ts';
import { sampleHashes, sampleEndpoint, sampleEndpoints, sampleRequest } from './sample-messages.ts';
import { OFFERED_HEADERS, type OpenSession, type SchedulerSession } from './session.ts';

/** One thing that a scheduler must keep; the rule of that name is in SPEC.md. */
export interface ContractRule {
  readonly rule: string;
  readonly says: string;
  /** Of the protocol, which a module does not speak. */
  readonly wireOnly?: boolean;
  /** Rejects with a sentence that says what came instead. */
  readonly check: (open: OpenSession) => Promise<void>;
}

/** Of a field that no version of the protocol has: number 1000, a varint of 1. */
const UNKNOWN_FIELD = Uint8Array.from([0xc0, 0x3e, 0x01]);

export const CONTRACT_RULES: readonly ContractRule[] = [
  {
    rule: 'C1',
    says: 'greets with version 1, a name, and no headers but those offered',
    check: within(({ welcome }) => {
      const { version, name, headers } = welcome;
      expect(version === 1, `its version is ${version}, not 1`);
      expect(name !== '', 'its name is empty');
      const others = headers.filter((header) => !OFFERED_HEADERS.includes(header));
      expect(others.length === 0, `it asked for headers that were not offered: ${others.join()}`);
    }),
  },
  {
    rule: 'C2',
    says: 'answers every request of a message once, by its id',
    check: within(async (session) => {
      const ids = numbered(200);
      session.send({ endpoints: sampleEndpoints(4), requests: ids.map((id) => sampleRequest(id)) });
      await decided(session, ids, slots(4));
    }),
  },
  {
    rule: 'C3',
    says: 'names only candidates, each once, best first',
    check: within(async (session) => {
      session.send({ endpoints: sampleEndpoints(8) });
      session.send({ requests: [sampleRequest('some', { candidates: [2, 5] })] });
      await decided(session, ['some'], [2, 5]);
      session.send({ requests: [sampleRequest('one', { candidates: [7] })] });
      await decided(session, ['one'], [7]);
    }),
  },
  {
    rule: 'C4',
    says: 'forgets an endpoint that is removed, also when its slot is another’s later',
    check: within(async (session) => {
      session.send({ endpoints: sampleEndpoints(3), requests: [sampleRequest('before')] });
      await decided(session, ['before'], slots(3));
      session.send({
        removed: [0, 1],
        requests: numbered(20, 'after').map((id) => sampleRequest(id)),
      });
      await decided(session, numbered(20, 'after'), [2]);
      const back = sampleEndpoint(0, { id: 'another' });
      session.send({ removed: [2], endpoints: [back], requests: [sampleRequest('back')] });
      await decided(session, ['back'], [0]);
    }),
  },
  {
    rule: 'C5',
    says: 'decides among endpoints never sampled, overloaded, or many',
    check: within(async (session) => {
      const unknown = { sampled: false, cacheBlocks: 0, cacheBlockTokens: 0 };
      const full = { waitingRequests: 1e6, runningRequests: 1e4, kvCacheUsage: 1 };
      session.send({ endpoints: [sampleEndpoint(0, unknown)], requests: [sampleRequest('unknown')] });
      await decided(session, ['unknown'], [0]);
      const endpoints = [sampleEndpoint(0, full), sampleEndpoint(1, unknown)];
      session.send({ endpoints, requests: [sampleRequest('full')] });
      await decided(session, ['full'], [0, 1]);
      session.send({ endpoints: sampleEndpoints(512), requests: [sampleRequest('many')] });
      await decided(session, ['many'], slots(512));
    }),
  },
  {
    rule: 'C6',
    says: 'bears odd requests: empty, huge, without hashes, with odd names',
    check: within(async (session) => {
      const requests = [
        sampleRequest('empty', { model: '', promptTokens: 0, blockHashes: new Uint8Array() }),
        sampleRequest('huge', { promptTokens: 4_000_000_000, blockHashes: sampleHashes(16_384) }),
        sampleRequest('odd', { model: 'mödel/日本:1', fairnessId: '\n"', priority: -2_147_483_648 }),
        sampleRequest('slo', { ttftSloMs: 0.5, tpotSloMs: 1e9, streaming: false }),
      ];
      session.send({ endpoints: sampleEndpoints(3), requests });
      await decided(session, ['empty', 'huge', 'odd', 'slo'], slots(3));
    }),
  },
  {
    rule: 'C7',
    says: 'bears events of requests it knows and does not know, in any number',
    check: within(async (session) => {
      session.send({ endpoints: sampleEndpoints(3), requests: [sampleRequest('known')] });
      await decided(session, ['known'], slots(3));
      const ids = ['known', 'strange', ...numbered(500, 'other')];
      session.send({
        events: [
          ...ids.map((id) => ({ id, routed: { slot: 1, promptTokens: 640 } })),
          ...ids.map((id) => ({ id, firstToken: { afterMs: 12.5 } })),
          ...ids.map((id) => ({ id, done: DONE })),
          { id: 'known', done: DONE },
          { id: 'gone', routed: { slot: 99, prefillSlot: 98, promptTokens: 1 } },
        ],
        requests: [sampleRequest('next')],
      });
      await decided(session, ['next'], slots(3));
    }),
  },
  {
    rule: 'C8',
    says: 'keeps the streams of two pickers apart',
    check: async (open) => {
      const [one, two] = [await open(), await open()];
      try {
        one.send({ endpoints: sampleEndpoints(3) });
        two.send({ endpoints: sampleEndpoints(3, 20) });
        one.send({ requests: [sampleRequest('same-id')] });
        two.send({ requests: [sampleRequest('same-id')] });
        await decided(one, ['same-id'], slots(3));
        await decided(two, ['same-id'], [20, 21, 22]);
      } finally {
        one.close();
        two.close();
      }
    },
  },
  {
    rule: 'C9',
    says: 'begins anew with a new stream',
    check: async (open) => {
      await within((session) => session.send({ endpoints: sampleEndpoints(9) }))(open);
      await within(async (session) => {
        session.send({ endpoints: [sampleEndpoint(40)], requests: [sampleRequest('anew')] });
        await decided(session, ['anew'], [40]);
      })(open);
    },
  },
  {
    rule: 'C10',
    wireOnly: true,
    says: 'ends a stream of a version it does not know',
    check: async (open) => {
      const session = await open({ version: 999 }).catch(() => undefined);
      session?.close();
      expect(session === undefined, 'it greeted a picker of version 999');
    },
  },
  {
    rule: 'C11',
    wireOnly: true,
    says: 'skips fields that it does not know',
    check: within(async (session) => {
      const message = { endpoints: sampleEndpoints(2), requests: [sampleRequest('future')] };
      session.send(message, UNKNOWN_FIELD);
      await decided(session, ['future'], slots(2));
    }),
  },
];

const DONE = {
  outcome: 'COMPLETED',
  afterMs: 99.5,
  promptTokens: 640,
  completionTokens: 32,
  cachedTokens: 128,
} as const;

function within(what: (session: SchedulerSession) => void | Promise<void>): ContractRule['check'] {
  return async (open) => {
    const session = await open();
    try {
      await what(session);
    } finally {
      session.close();
    }
  };
}

/** Each of the requests is answered once, with nobody or with some of the slots. */
async function decided(
  session: SchedulerSession,
  ids: readonly string[],
  allowed: readonly number[],
): Promise<void> {
  const decisions = await session.decisions(ids);
  expect(session.ended === undefined, `the stream has ended: ${session.ended}`);
  for (const id of ids) {
    const answers = decisions.filter((decision) => decision.id === id);
    expect(answers.length === 1, `request ${id} got ${answers.length} decisions, not 1`);
  }
  for (const decision of decisions) fits(decision, allowed);
}

function fits({ id, targets, prefillSlot }: DecisionMessage, allowed: readonly number[]): void {
  const named = targets.map(({ slot }) => slot);
  const all = prefillSlot === undefined ? named : [...named, prefillSlot];
  const others = all.filter((slot) => !allowed.includes(slot));
  expect(others.length === 0, `request ${id}: slot ${others.join()} is no candidate`);
  expect(new Set(named).size === named.length, `request ${id}: a slot is named twice`);
  const scores = targets.map(({ score }) => score);
  expect(scores.every(Number.isFinite), `request ${id}: a score is no finite number`);
  const falls = scores.every((score, at) => at === 0 || score <= (scores[at - 1] ?? score));
  expect(falls, `request ${id}: the scores rise, though the best comes first`);
}

function expect(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

function slots(count: number): readonly number[] {
  return Array.from({ length: count }, (_, slot) => slot);
}

function numbered(count: number, prefix = 'request'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
