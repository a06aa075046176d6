import { expect, it } from 'vitest';
import { podsOf } from './reference-pools.ts';

it('[D572] a pool for the reference has a pod for each address of its endpoints', () => {
  expect(podsOf(['127.0.0.1:9001', '127.0.0.1:9002'])).toEqual({
    hosts: ['127.0.0.1'],
    ports: [9001, 9002],
  });
  const pods = Array.from({ length: 64 }, (_, at) => `127.0.1.${at + 1}:8000`);
  expect(podsOf(pods)).toEqual({
    hosts: pods.map((address) => address.replace(':8000', '')),
    ports: [8000],
  });
});

it('[D572] endpoints that no pool can have are an error with their numbers', () => {
  expect(() => podsOf(['127.0.1.1:9001', '127.0.1.1:9002', '127.0.1.2:9001'])).toThrow(
    'but 2 hosts with 2 ports are not 3 endpoints',
  );
  const ports = Array.from({ length: 9 }, (_, at) => `127.0.0.1:${9000 + at}`);
  expect(() => podsOf(ports)).toThrow('at most 8 ports, and these are 9');
});
