import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { worldOf } from '../../../test/support/waiting-bed.ts';
import type { Placement } from '../../framework/routing.ts';

const seen = { firstTokenVisible: true };

it.each(['c', 'd'])(
  '[V532] room that is made while %s is placed goes to the next at once, also at another endpoint',
  (id) => {
    const { picker, clock, routed, order, send } = worldOf(2);
    for (const each of ['a', 'b']) send({ id: each });
    const left = new Map([
      ['a', routed.get('a')],
      ['b', routed.get('b')],
    ]);
    for (const each of ['c', 'd']) {
      const placed: Placement['placed'] = (one) => {
        order.push(each);
        for (const other of left.values()) other?.firstToken();
        one.firstToken();
      };
      picker.enqueue?.(makeRequest({ id: each, promptTokens: 20_000 }), seen, {
        placed,
        refused: () => undefined,
      });
    }
    expect(order).toEqual(['a', 'b']);
    routed.get(id === 'c' ? 'a' : 'b')?.firstToken();
    clock.advanceTo(1);
    expect(order.toSorted()).toEqual(['a', 'b', 'c', 'd']);
    expect(picker.waiting.requests).toBe(0);
  },
);

it.each(['cancels', 'stops', 'sends'])(
  '[V532] a placement that %s others, or all, in its call leaves none waiting',
  (what) => {
    const { picker, clock, routed, order, send, cancel } = worldOf(1);
    send({ id: 'a' });
    const within = (): void => {
      if (what === 'cancels') cancel('c');
      else if (what === 'stops') picker.stop();
      else send({ id: 'e' });
    };
    const placement: Placement = {
      placed: (one) => {
        order.push('b');
        picker.cancel(placement);
        within();
        one.firstToken();
        one.done('completed');
      },
      refused: () => void order.push('!b'),
    };
    picker.enqueue?.(makeRequest({ id: 'b', promptTokens: 20_000 }), seen, placement);
    for (const id of ['c', 'd']) send({ id });
    routed.get('a')?.firstToken();
    for (let turn = 0; turn < 3; turn++) {
      clock.advanceTo(clock.now() + 1);
      for (const each of ['c', 'd', 'e']) routed.get(each)?.firstToken();
    }
    const others = { cancels: ['d'], stops: ['!c', '!d'], sends: ['c', 'd', 'e'] }[what] ?? [];
    expect(order.toSorted()).toEqual(['a', 'b', ...others].toSorted());
    expect(picker.waiting.requests).toBe(0);
  },
);
