import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRouted } from '../../test/makers.ts';
import { CopyAccounts, type CopyOffer } from './copy-accounts.ts';

const ENDPOINT = makeEndpoint('pod-0');
const OFFER: CopyOffer = { key: 1, lostMs: 30, waitingLostMs: 0, priceMs: 100, reuseRate: 0 };

function losing(count: number, offer = OFFER): CopyAccounts {
  const accounts = new CopyAccounts();
  for (let number = 0; number < count; number++) {
    accounts.passed(offer, number);
  }
  return accounts;
}

describe('the price of a copy', () => {
  it('[Q252] is paid by what all requests with its beginning have lost, and by no others', () => {
    expect(losing(0).paidMs(OFFER, 0)).toBe(0);
    expect(losing(3).paidMs(OFFER, 3)).toBe(90);
    expect(losing(3).paidMs({ ...OFFER, key: 2 }, 3)).toBe(0);
  });

  it('[Q252] is paid anew for the next copy, and not while one is computed', () => {
    const accounts = losing(4);
    const buying = makeRouted(ENDPOINT, { number: 9, at: 4 });
    accounts.made(OFFER, buying);
    expect(accounts.paidMs(OFFER, 4)).toBe(0);
    for (let number = 10; number < 14; number++) {
      accounts.passed(OFFER, 5);
    }
    expect(accounts.paidMs(OFFER, 5)).toBe(20);
    accounts.ended(buying);
    accounts.ended(buying);
    expect(accounts.paidMs(OFFER, 5)).toBe(120);
  });

  it('[Q252] is paid by waiting requests, too', () => {
    expect(losing(0).paidMs({ ...OFFER, waitingLostMs: 70 }, 0)).toBe(70);
    expect(losing(2).paidMs({ ...OFFER, waitingLostMs: 70 }, 2)).toBe(130);
  });

  it('[Q253] grows by what the displaced would have saved meanwhile', () => {
    // Once in 200 ms it would have been used again, which saves 100 ms.
    const offer = { ...OFFER, reuseRate: 1 / 200 };
    const accounts = new CopyAccounts();
    accounts.passed(offer, 0);
    expect(accounts.paidMs(offer, 20)).toBe(20);
    accounts.passed(offer, 20);
    expect(accounts.paidMs(offer, 20)).toBe(50);
    expect(accounts.paidMs(offer, 500)).toBe(0);
  });

  it('[Q254] is remembered of 1,024 beginnings, those that lost something last', () => {
    const accounts = new CopyAccounts();
    for (let key = 0; key < 1025; key++) {
      accounts.passed({ ...OFFER, key }, 0);
    }
    expect(accounts.paidMs({ ...OFFER, key: 0 }, 0)).toBe(0);
    expect(accounts.paidMs({ ...OFFER, key: 1 }, 0)).toBe(30);
    expect(accounts.paidMs({ ...OFFER, key: 1024 }, 0)).toBe(30);
  });
});
