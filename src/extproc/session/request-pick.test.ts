import { expect, it } from 'vitest';
import { inertRouted } from '../../../test/support/session/inert-routed.ts';
import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Placement, RouteOptions, Router } from '../../framework/routing.ts';
import { BODY_MODE } from '../codec/stream-event.ts';
import { RequestPick } from './request-pick.ts';

const request = { id: 'a', model: 'm' } as InferenceRequest;
const head = { id: 'a', path: '/', headers: new Map<string, string>() };

/** A pick without a session. What it does is in `log`, in its order. */
function setUp(router: Partial<Router> = {}) {
  const log: string[] = [];
  const options: (RouteOptions | undefined)[] = [];
  const done = (outcome: string): void => void log.push(`done: ${outcome}`);
  const routed = inertRouted({ request, destinations: ['10.0.0.1:80'], done });
  const route = (_request: InferenceRequest, given?: RouteOptions): typeof routed => {
    options.push(given);
    return routed;
  };
  const unread = (): never => {
    throw new Error('no body is read');
  };
  const pick = new RequestPick(
    {
      router: { route, ...router },
      openBody: unread,
      headerOnly: unread,
      earlyPickBytes: 1,
      halfCloseAfterPick: false,
    },
    {
      emit: ({ kind }) => void log.push(kind),
      resume: (go) => {
        try {
          go();
        } catch (error) {
          log.push(`refused: ${error instanceof RoutingError ? error.code : String(error)}`);
        }
      },
      onRouted: () => void log.push('routed'),
    },
  );
  const read = {
    head,
    request,
    body: [],
    contentLength: undefined,
    halfCloses: false,
    answerPick: () => void log.push('answered'),
  };
  return { pick, log, options, routed, read };
}

it('lets the body know where it goes before it is answered', () => {
  const { pick, log, read, routed } = setUp();
  pick.begin(read);
  expect(log).toEqual(['routed', 'answered']);
  expect([pick.routed, pick.waits]).toEqual([routed, false]);
});

it('[E10] waits for what it needs, and can be refused meanwhile', () => {
  let refuse: ((error: RoutingError) => void) | undefined;
  const { pick, log, read } = setUp({
    prepare: (_request, _body, _ready, options) => {
      refuse = options?.refuse;
      return true;
    },
  });
  pick.begin(read);
  expect([pick.waits, log]).toEqual([true, []]);
  refuse?.(new RoutingError('no-endpoints', 'none'));
  expect(log).toEqual(['refused: no-endpoints']);
});

it('[Q13] gives an endpoint back that comes after the request has gone', () => {
  const held: Placement[] = [];
  const cancelled: Placement[] = [];
  const { pick, log, read, routed } = setUp({
    enqueue: (_request, _options, placement) => void held.push(placement),
    cancel: (placement) => void cancelled.push(placement),
  });
  pick.begin(read);
  pick.cancel();
  expect([pick.waits, cancelled]).toEqual([false, held]);
  held[0]?.placed(routed);
  expect(log).toEqual(['done: aborted']);
});

it('says what of the answer is seen: no token without its body, nothing after a half-close', () => {
  const seen = (responseBodyMode: number, halfCloses: boolean): unknown => {
    const { pick, read, options } = setUp();
    pick.configure({
      requestBodyMode: BODY_MODE.fullDuplex,
      responseBodyMode,
      sendsBodyWithoutWaiting: false,
    });
    pick.begin({ ...read, halfCloses });
    return [options[0]?.firstTokenVisible, options[0]?.endVisible];
  };
  expect(seen(BODY_MODE.fullDuplex, false)).toEqual([true, true]);
  expect(seen(BODY_MODE.none, false)).toEqual([false, true]);
  expect(seen(BODY_MODE.fullDuplex, true)).toEqual([false, false]);
});

it.each(['placed', 'waiting'])(
  '[V531] gives back what is %s by a call within which its session has ended',
  (what) => {
    const { pick, log, routed, read } = setUp({
      enqueue: () => {
        pick.cancel();
        return what === 'placed' ? routed : undefined;
      },
      cancel: (placement) => void log.push(placement === pick ? 'cancelled' : 'another cancelled'),
    });
    pick.begin(read);
    expect(log).toEqual([what === 'placed' ? 'done: aborted' : 'cancelled']);
    expect([pick.routed, pick.waits]).toEqual([undefined, false]);
  },
);

it.each([true, false])(
  '[V531] asks for no pick where its session has ended while it was prepared, whether it waits (%s)',
  (waits) => {
    const { pick, log, read } = setUp({
      prepare: () => {
        pick.cancel();
        return waits;
      },
      abandon: ({ id }) => void log.push(`abandoned ${id}`),
    });
    pick.begin(read);
    expect(log).toEqual(['abandoned a']);
    expect([pick.routed, pick.waits]).toEqual([undefined, false]);
  },
);
