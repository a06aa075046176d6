import { describe, expect, it } from 'vitest';
import type { DecisionMessage, PickerMessage, Welcome } from '../messages.ts';
import { checkScheduler } from './check-scheduler.ts';
import type { OpenSession, SchedulerSession } from './scheduler-session.ts';

const WELCOME: Welcome = {
  version: 1,
  name: 'made for this test',
  wantsEndpoints: true,
  wantsEvents: true,
  blockHashesMax: 0,
  headers: [],
};

type Tell = (message: PickerMessage, extra: Uint8Array) => readonly DecisionMessage[];

/** A scheduler in memory that keeps all rules but those that `faults` break. */
function scheduler(faults: {
  readonly welcome?: Partial<Welcome>;
  readonly greetsAnyVersion?: boolean;
  readonly slots?: Map<number, string>;
  readonly tell?: (told: Tell) => Tell;
}): OpenSession {
  const { welcome, greetsAnyVersion = false, slots: shared, tell = (told) => told } = faults;
  return ({ version = 1 } = {}) => {
    if (version !== 1 && !greetsAnyVersion) return Promise.reject(new Error('another version'));
    const slots = shared ?? new Map<number, string>();
    const answers: DecisionMessage[] = [];
    const told = tell(({ removed = [], endpoints = [], requests = [] }) => {
      for (const slot of removed) slots.delete(slot);
      for (const { slot, id } of endpoints) slots.set(slot, id);
      return requests.map(({ id, candidates }) => {
        const offered = candidates.length === 0 ? [...slots.keys()] : candidates;
        const targets = offered.slice(0, 2).map((slot, at) => ({ slot, score: -at }));
        return { id, targets, refuse: false, headers: {} };
      });
    });
    const session: SchedulerSession = {
      welcome: { ...WELCOME, ...welcome },
      ended: undefined,
      send: (message, extra = new Uint8Array()) => void answers.push(...told(message, extra)),
      decisions: (ids) => Promise.resolve(answers.filter(({ id }) => ids.includes(id))),
      close: () => undefined,
    };
    return Promise.resolve(session);
  };
}

async function broken(faults: Parameters<typeof scheduler>[0]): Promise<readonly string[]> {
  const results = await checkScheduler(scheduler(faults));
  return results.filter(({ fault }) => fault !== undefined).map(({ rule }) => rule);
}

/** Changes every decision. */
const changing =
  (change: (decision: DecisionMessage) => DecisionMessage) =>
  (told: Tell): Tell =>
  (message, extra) =>
    told(message, extra).map(change);

describe('the contract of schedulers in other processes', () => {
  it('is kept by one that does right', async () => {
    expect(await broken({})).toEqual([]);
  });

  it('[C1] is broken by a Welcome of another version, without a name, or that asks for other headers', async () => {
    expect(await broken({ welcome: { version: 2 } })).toContain('C1');
    expect(await broken({ welcome: { name: '' } })).toContain('C1');
    expect(await broken({ welcome: { headers: ['authorization'] } })).toContain('C1');
  });

  it('[C2] is broken by an answer that is missing or comes twice', async () => {
    const dropsLast =
      (told: Tell): Tell =>
      (message, extra) =>
        told(message, extra).slice(0, -1);
    expect(await broken({ tell: dropsLast })).toContain('C2');
    const twice =
      (told: Tell): Tell =>
      (message, extra) =>
        told(message, extra).flatMap((decision) => [decision, decision]);
    expect(await broken({ tell: twice })).toContain('C2');
  });

  it('[C3] is broken by one that names others, one twice, the best last, or scores with no number', async () => {
    const target = (slot: number, score: number) => ({ slot, score });
    const naming = (targets: DecisionMessage['targets']) => ({
      tell: changing((decision) => ({ ...decision, targets })),
    });
    expect(await broken(naming([target(0, 1)]))).toContain('C3');
    const doubled = changing((decision) => ({
      ...decision,
      targets: decision.targets.flatMap((each) => [each, each]),
    }));
    expect(await broken({ tell: doubled })).toContain('C3');
    const rising = changing((decision) => ({
      ...decision,
      targets: decision.targets.map(({ slot }, at) => target(slot, at)),
    }));
    expect(await broken({ tell: rising })).toContain('C3');
    const noNumber = changing((decision) => ({
      ...decision,
      targets: decision.targets.map(({ slot }) => target(slot, Number.NaN)),
    }));
    expect(await broken({ tell: noNumber })).toContain('C3');
    const prefill = changing((decision) => ({ ...decision, prefillSlot: 777 }));
    expect(await broken({ tell: prefill })).toContain('C3');
  });

  it('[C4] is broken by one that does not forget', async () => {
    const keeps =
      (told: Tell): Tell =>
      (message, extra) =>
        told({ ...message, removed: [] }, extra);
    expect(await broken({ tell: keeps })).toContain('C4');
  });

  it('[C8] [C9] is broken by one that keeps one table for all streams', async () => {
    const rules = await broken({ slots: new Map() });
    expect(rules).toEqual(expect.arrayContaining(['C8', 'C9']));
  });

  it('[C10] is broken by one that greets any version', async () => {
    expect(await broken({ greetsAnyVersion: true })).toEqual(['C10']);
  });

  it('[C5] [C6] [C7] [C11] are broken by one that throws at odd input', async () => {
    const failsAt =
      (isOdd: (message: PickerMessage, extra: Uint8Array) => boolean) =>
      (told: Tell): Tell =>
      (message, extra) => {
        if (isOdd(message, extra)) throw new Error('this is odd');
        return told(message, extra);
      };
    const many = failsAt(({ endpoints = [] }) => endpoints.length > 100);
    const huge = failsAt(({ requests = [] }) => requests.some((r) => r.promptTokens > 1e9));
    const events = failsAt(({ events: happened = [] }) => happened.length > 100);
    const unknown = failsAt((_, extra) => extra.length > 0);
    expect(await broken({ tell: many })).toEqual(['C5']);
    expect(await broken({ tell: huge })).toEqual(['C6']);
    expect(await broken({ tell: events })).toEqual(['C7']);
    expect(await broken({ tell: unknown })).toEqual(['C11']);
  });
});
