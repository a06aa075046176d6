import type { DecisionMessage } from '../messages.ts';
import { sampleEndpoint, sampleEndpoints, sampleHashes, sampleRequest } from './sample-messages.ts';
import { OFFERED_HEADERS, type OpenSession, type SchedulerSession } from './scheduler-session.ts';

/** A rule that a scheduler must keep; SPEC.md has it under the same name. */
interface ContractRule {
  readonly rule: string;
  readonly says: string;
  /** A rule of the protocol, which modules do not speak. */
  readonly wireOnly?: boolean;
  /** Rejects with an error that says how the rule was broken. */
  readonly check: (open: OpenSession) => Promise<void>;
}

type SessionCheck = (session: SchedulerSession) => void | Promise<void>;

/** Field 1000, a varint of 1, which no version of the protocol has. */
const UNKNOWN_FIELD = Uint8Array.from([0xc0, 0x3e, 0x01]);

export const CONTRACT_RULES: readonly ContractRule[] = [
  rule('C1', 'sends a Welcome with version 1, a name and offered headers only', ({ welcome }) => {
    const { version, name, headers } = welcome;
    expect(version === 1, `its version is ${version}, not 1`);
    expect(name !== '', 'its name is empty');
    const others = headers.filter((header) => !OFFERED_HEADERS.includes(header));
    expect(others.length === 0, `it asks for headers that were not offered: ${others.join()}`);
  }),
  rule('C2', 'decides every request of a message exactly once, by its id', async (session) => {
    const ids = numbered(200);
    session.send({ endpoints: sampleEndpoints(4), requests: ids.map((id) => sampleRequest(id)) });
    await expectDecisions(session, ids, slots(4));
  }),
  rule('C3', 'names only candidates, each once, best first', async (session) => {
    session.send({ endpoints: sampleEndpoints(8) });
    session.send({ requests: [sampleRequest('some', { candidates: [2, 5] })] });
    await expectDecisions(session, ['some'], [2, 5]);
    session.send({ requests: [sampleRequest('one', { candidates: [7] })] });
    await expectDecisions(session, ['one'], [7]);
  }),
  rule('C4', 'forgets a removed endpoint, even if another gets its slot', async (session) => {
    session.send({ endpoints: sampleEndpoints(3), requests: [sampleRequest('before')] });
    await expectDecisions(session, ['before'], slots(3));
    session.send({
      removed: [0, 1],
      requests: numbered(20, 'after').map((id) => sampleRequest(id)),
    });
    await expectDecisions(session, numbered(20, 'after'), [2]);
    const back = sampleEndpoint(0, { id: 'another' });
    session.send({ removed: [2], endpoints: [back], requests: [sampleRequest('back')] });
    await expectDecisions(session, ['back'], [0]);
  }),
  rule('C5', 'decides among endpoints without samples, overloaded, or many', async (session) => {
    const unknown = { sampled: false, cacheBlocks: 0, cacheBlockTokens: 0 };
    const full = { waitingRequests: 1e6, runningRequests: 1e4, kvCacheUsage: 1 };
    session.send({ endpoints: [sampleEndpoint(0, unknown)], requests: [sampleRequest('unknown')] });
    await expectDecisions(session, ['unknown'], [0]);
    const endpoints = [sampleEndpoint(0, full), sampleEndpoint(1, unknown)];
    session.send({ endpoints, requests: [sampleRequest('full')] });
    await expectDecisions(session, ['full'], [0, 1]);
    session.send({ endpoints: sampleEndpoints(512), requests: [sampleRequest('many')] });
    await expectDecisions(session, ['many'], slots(512));
  }),
  rule('C6', 'decides unusual requests: empty, huge, without hashes', async (session) => {
    const requests = [
      sampleRequest('empty', { model: '', promptTokens: 0, blockHashes: new Uint8Array() }),
      sampleRequest('huge', { promptTokens: 4_000_000_000, blockHashes: sampleHashes(16_384) }),
      sampleRequest('odd', { model: 'mödel/日本:1', fairnessId: '\n"', priority: -2_147_483_648 }),
      sampleRequest('slo', { ttftSloMs: 0.5, tpotSloMs: 1e9, streaming: false }),
    ];
    session.send({ endpoints: sampleEndpoints(3), requests });
    await expectDecisions(session, ['empty', 'huge', 'odd', 'slo'], slots(3));
  }),
  rule('C7', 'accepts any number of events, also of unknown requests', async (session) => {
    session.send({ endpoints: sampleEndpoints(3), requests: [sampleRequest('known')] });
    await expectDecisions(session, ['known'], slots(3));
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
    await expectDecisions(session, ['next'], slots(3));
  }),
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
        await expectDecisions(one, ['same-id'], slots(3));
        await expectDecisions(two, ['same-id'], [20, 21, 22]);
      } finally {
        one.close();
        two.close();
      }
    },
  },
  {
    rule: 'C9',
    says: 'starts without state on a new stream',
    check: async (open) => {
      await onSession(open, (session) => session.send({ endpoints: sampleEndpoints(9) }));
      await onSession(open, async (session) => {
        session.send({ endpoints: [sampleEndpoint(40)], requests: [sampleRequest('anew')] });
        await expectDecisions(session, ['anew'], [40]);
      });
    },
  },
  {
    rule: 'C10',
    wireOnly: true,
    says: 'ends a stream of an unknown version',
    check: async (open) => {
      const session = await open({ version: 999 }).catch(() => undefined);
      session?.close();
      expect(session === undefined, 'it sent a Welcome to a picker of version 999');
    },
  },
  {
    ...rule('C11', 'skips unknown fields', async (session) => {
      const message = { endpoints: sampleEndpoints(2), requests: [sampleRequest('future')] };
      session.send(message, UNKNOWN_FIELD);
      await expectDecisions(session, ['future'], slots(2));
    }),
    wireOnly: true,
  },
];

const DONE = {
  outcome: 'COMPLETED',
  afterMs: 99.5,
  promptTokens: 640,
  completionTokens: 32,
  cachedTokens: 128,
} as const;

/** A rule about a single session. */
function rule(name: string, says: string, check: SessionCheck): ContractRule {
  return { rule: name, says, check: (open) => onSession(open, check) };
}

async function onSession(open: OpenSession, check: SessionCheck): Promise<void> {
  const session = await open();
  try {
    await check(session);
  } finally {
    session.close();
  }
}

/** Expects one decision for each request, with no target or with some of the `allowed` slots. */
async function expectDecisions(
  session: SchedulerSession,
  ids: readonly string[],
  allowed: readonly number[],
): Promise<void> {
  const decisions = await session.decisions(ids);
  expect(session.ended === undefined, `the stream ended: ${session.ended}`);
  for (const id of ids) {
    const answers = decisions.filter((decision) => decision.id === id);
    expect(answers.length === 1, `request ${id} got ${answers.length} decisions, not 1`);
  }
  for (const decision of decisions) expectValid(decision, allowed);
}

function expectValid(
  { id, targets, prefillSlot }: DecisionMessage,
  allowed: readonly number[],
): void {
  const targetSlots = targets.map(({ slot }) => slot);
  const all = prefillSlot === undefined ? targetSlots : [...targetSlots, prefillSlot];
  const others = all.filter((slot) => !allowed.includes(slot));
  expect(others.length === 0, `request ${id}: slot ${others.join()} is not a candidate`);
  expect(new Set(targetSlots).size === targetSlots.length, `request ${id}: a slot is repeated`);
  const scores = targets.map(({ score }) => score);
  expect(scores.every(Number.isFinite), `request ${id}: a score is not a finite number`);
  const isSorted = scores.every((score, at) => at === 0 || score <= (scores[at - 1] ?? score));
  expect(isSorted, `request ${id}: the scores are not in descending order`);
}

function expect(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

function slots(count: number): readonly number[] {
  return Array.from({ length: count }, (_, slot) => slot);
}

function numbered(count: number, prefix = 'request'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
