import { expect, it, vi } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { linked, OPTIONS, placement, recorded } from '../../test/support/linked-threads.ts';
import { RoutingError } from '../framework/error.ts';
import { LocalAnswer } from '../framework/request-control.ts';
import type { Placement, Router } from '../framework/routing.ts';

it('[D241] a pick made in the deciding thread is that of the session, and so is all that follows', () => {
  const request = makeRequest({
    prompt: { count: 1, blockTokens: 64, words: Uint32Array.of(7, 8) },
  });
  const { routed, calls } = recorded(request, { wantsAnswer: true });
  const route = vi.fn<Router['route']>(() => routed);
  const { worker, settle } = linked({ route });
  const waiting = placement();
  expect(worker.enqueue(request, OPTIONS, waiting)).toBeUndefined();
  settle();
  expect(route.mock.calls).toEqual([
    [{ ...request, headers: new Map(), rewrite: undefined }, OPTIONS],
  ]);
  const remote = waiting.routed;
  expect(remote?.destinations).toEqual(['pod:8000', 'next:8000']);
  expect(remote?.headers).toEqual(new Map([['x-a', '1']]));
  expect(remote?.endpoint.labels).toEqual(new Map([['engine', 'vllm']]));
  expect(remote?.scored?.map(({ endpoint, score }) => [endpoint.address, score])).toEqual([
    ['pod:8000', 0.5],
  ]);
  expect(remote?.wantsAnswer).toBe(true);
  const report = { waitingQueueSize: 3, runningRequests: undefined, kvCacheUsage: 0.5 };
  remote?.served('next:8000');
  remote?.loadReported?.(report);
  remote?.windowReported?.(8192);
  remote?.firstToken();
  remote?.firstToken();
  remote?.bodyRead(makeRequest({ bodyBytes: 9 }));
  remote?.answered(request.prompt);
  remote?.done('completed', { promptTokens: 1, completionTokens: 2, cachedTokens: undefined }, 30);
  remote?.done('aborted');
  settle();
  expect(calls).toEqual([
    ['served', 'next:8000'],
    ['loadReported', report],
    ['windowReported', 8192],
    ['firstToken'],
    ['bodyRead', 9],
    ['answered', request.prompt],
    ['done', 'completed', { promptTokens: 1, completionTokens: 2, cachedTokens: undefined }, 30],
  ]);
});

it('[D451] an answer that streams unasked is reported once, and each of its pieces then', () => {
  const request = makeRequest({ streaming: false });
  const { routed, calls } = recorded(request, { wantsTokens: true });
  const { worker, settle } = linked({ route: () => routed });
  const waiting = placement();
  worker.enqueue(request, OPTIONS, waiting);
  settle();
  for (const step of ['streams', 'streams', 'firstToken', 'firstToken'] as const) {
    waiting.routed?.[step]?.();
  }
  settle();
  expect(calls).toEqual([['streams'], ['firstToken'], ['firstToken']]);
});

it('[D242] what all streams write in one turn is one message, and so are the answers', () => {
  const { worker, settle, batches } = linked({ route: (request) => recorded(request).routed });
  const waiting = Array.from({ length: 20 }, placement);
  for (const [n, each] of waiting.entries()) {
    worker.enqueue(makeRequest({ id: `r${n}` }), OPTIONS, each);
  }
  settle();
  expect(waiting.map(({ routed }) => routed?.request.id)).toEqual(waiting.map((_, n) => `r${n}`));
  expect(batches()).toBe(2);
});

it('[D243] later pieces of an answer cross only where a plugin counts them', () => {
  for (const wantsTokens of [false, true]) {
    const { routed, calls } = recorded(makeRequest(), { wantsTokens });
    const { worker, settle } = linked({ route: () => routed });
    const waiting = placement();
    worker.enqueue(makeRequest(), OPTIONS, waiting);
    settle();
    for (let piece = 0; piece < 3; piece++) waiting.routed?.firstToken();
    settle();
    expect(calls).toHaveLength(wantsTokens ? 3 : 1);
  }
});

it('[D244] a refusal has the same code and sentence, and an error of ours is reported there', () => {
  const onFault = vi.fn();
  const errors = [new RoutingError('saturated', 'try later'), new Error('broken')];
  const route = (): never => {
    throw errors.shift();
  };
  const { worker, settle } = linked({ route }, { onFault });
  const [first, second] = [placement(), placement()];
  worker.enqueue(makeRequest(), OPTIONS, first);
  worker.enqueue(makeRequest({ headers: new Map([['x-request-id', 'abc']]) }), OPTIONS, second);
  settle();
  expect(first.error).toMatchObject({ code: 'saturated', sentence: 'try later' });
  expect(second.error).toMatchObject({ code: 'internal' });
  expect(onFault).toHaveBeenCalledExactlyOnceWith(expect.any(Error), { requestId: 'abc' });
});

it('[D245] a client that goes while its request waits gives back what is reserved meanwhile', () => {
  const { routed, calls } = recorded(makeRequest());
  let placed: Placement | undefined;
  const cancel = vi.fn();
  const enqueue: Router['enqueue'] = (_request, _options, each) => void (placed = each);
  const { worker, settle } = linked({ route: () => routed, enqueue, cancel });
  const [held, late] = [placement(), placement()];
  worker.enqueue(makeRequest(), OPTIONS, held);
  settle();
  worker.cancel(held);
  settle();
  expect(cancel).toHaveBeenCalledExactlyOnceWith(placed);
  worker.enqueue(makeRequest(), OPTIONS, late);
  settle();
  // The pick and the end of the client cross on their ways.
  placed?.placed(routed);
  worker.cancel(late);
  settle();
  expect(late.routed).toBeUndefined();
  expect(calls).toEqual([['done', 'aborted']]);
});

it('[D246] what must be prepared has the body, and may refuse the request before its pick and after', () => {
  const request = makeRequest();
  const { routed, calls } = recorded(request);
  let asked: Parameters<Required<Router>['prepare'] & object> | undefined;
  const abandon = vi.fn();
  const router: Router = {
    prepare: (...args) => {
      asked = args;
      return true;
    },
    abandon,
    route: () => routed,
  };
  const { worker, settle } = linked(router);
  worker.setPreparing('bodies');
  const [ready, refuse] = [vi.fn(), vi.fn()];
  const body = [Buffer.from('{"a":'), Buffer.from('1}')];
  expect(worker.prepare?.(request, body, ready, { subset: ['s'], refuse })).toBe(true);
  settle();
  expect(Buffer.concat(asked?.[1] ?? []).toString()).toBe('{"a":1}');
  expect(asked?.[3]?.subset).toEqual(['s']);
  asked?.[2]();
  settle();
  expect(ready).toHaveBeenCalledOnce();
  const waiting = placement();
  worker.enqueue(request, OPTIONS, waiting);
  settle();
  expect(waiting.routed).toBeDefined();
  asked?.[3]?.refuse?.(new RoutingError('evicted', 'more urgent'));
  settle();
  expect(refuse).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'evicted' }));
  waiting.routed?.done('aborted');
  settle();
  expect(calls).toEqual([['done', 'aborted']]);
  worker.prepare?.(request, body, ready, { refuse });
  settle();
  worker.abandon(request);
  settle();
  expect(abandon).toHaveBeenCalledOnce();
});

it('[D467] a request that is refused while it is prepared is refused at the worker, as where too many wait', () => {
  const prepare: Router['prepare'] = () => {
    throw new RoutingError('saturated', 'too many wait');
  };
  const { worker, settle } = linked({ route: vi.fn<Router['route']>(), prepare });
  worker.setPreparing('waits');
  const [ready, refuse] = [vi.fn(), vi.fn()];
  expect(worker.prepare?.(makeRequest(), [], ready, { refuse })).toBe(true);
  settle();
  expect(ready).not.toHaveBeenCalled();
  expect(refuse).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: 'saturated', sentence: 'too many wait' }),
  );
});

it('[D247] the picker itself answers requests without a body', () => {
  const local = { status: 200, contentType: 'application/json', body: '{}' };
  const respond = vi.fn(() => local);
  const { worker, settle } = linked({ route: () => recorded(makeRequest()).routed }, { respond });
  const waiting = placement();
  const headers = new Map([
    [':method', 'GET'],
    [':path', '/v1/models'],
  ]);
  worker.enqueue(makeRequest({ bodyBytes: 0, headers }), OPTIONS, waiting);
  settle();
  expect(respond).toHaveBeenCalledExactlyOnceWith({ method: 'GET', path: '/v1/models' });
  expect(waiting.error).toBeInstanceOf(LocalAnswer);
  expect(waiting.error).toMatchObject({ response: local });
});

it('[D360] a request without a body is prepared by no thread', () => {
  const { routed } = recorded(makeRequest());
  const route = vi.fn<Router['route']>(() => routed);
  const { worker, settle } = linked({ route, prepare: () => expect.fail('prepared') });
  const waiting = placement();
  worker.enqueue(makeRequest(), { subset: ['a'], anywhere: true }, waiting);
  settle();
  expect(waiting.routed?.destinations).toEqual(routed.destinations);
  expect(route.mock.calls[0]?.[1]).toMatchObject({ subset: ['a'], anywhere: true });
});

it('[D248] headers of the response follow the address that the proxy reports', () => {
  const responseHeadersFrom = (served: string | undefined): ReadonlyMap<string, string> =>
    new Map([['x-served', served ?? 'not said']]);
  const { routed } = recorded(makeRequest(), { responseHeadersFrom });
  const { worker, settle } = linked({ route: () => routed });
  const waiting = placement();
  worker.enqueue(makeRequest(), OPTIONS, waiting);
  settle();
  expect(waiting.routed?.responseHeaders().get('x-served')).toBe('not said');
  waiting.routed?.served('next:8000');
  expect(waiting.routed?.responseHeaders().get('x-served')).toBe('next:8000');
});

it('[D249] a trace begins in the deciding thread, and the request gets its id with the pick', () => {
  const closed = vi.fn();
  const refused = vi.fn();
  const bodyRead = vi.fn();
  const follow = vi.fn(() => ({
    traceparent: '00-a-b-01',
    traceId: 'a',
    bodyRead,
    refused,
    closed,
  }));
  const onRefused = vi.fn();
  const { worker, following, settle } = linked(
    { route: () => recorded(makeRequest()).routed },
    { follow, onRefused },
  );
  const head = { id: 'r0', headers: new Map([['x-b', '2']]) };
  const followed = following.follow(head, 'parent');
  const waiting = placement();
  worker.enqueue(makeRequest(), OPTIONS, waiting);
  settle();
  expect(follow).toHaveBeenCalledExactlyOnceWith(head, 'parent');
  expect(bodyRead).toHaveBeenCalledOnce();
  expect(followed.traceparent).toBe('00-a-b-01');
  followed.refused(new RoutingError('evicted', 'more urgent'));
  followed.closed(200);
  settle();
  expect(refused).toHaveBeenCalledOnce();
  expect(closed).toHaveBeenCalledExactlyOnceWith(200);
});

it('[D250] a worker that fails ends its requests: reservations are released, waits are over', () => {
  const { routed, calls } = recorded(makeRequest());
  const cancel = vi.fn();
  let held = false;
  const enqueue: Router['enqueue'] = () => (held ? undefined : routed);
  const { worker, core, settle } = linked({ route: () => routed, enqueue, cancel });
  worker.enqueue(makeRequest(), OPTIONS, placement());
  settle();
  held = true;
  worker.enqueue(makeRequest(), OPTIONS, placement());
  settle();
  core.close();
  expect(calls).toEqual([['done', 'aborted']]);
  expect(cancel).toHaveBeenCalledOnce();
});
