import { describe, expect, it } from 'vitest';
import { bareHostOf, hostOf, portOf } from './server-address.ts';

describe('the parts of an address', () => {
  it.each([
    ['10.0.0.1:8000', '10.0.0.1', '10.0.0.1', '8000'],
    ['model.example:80', 'model.example', 'model.example', '80'],
    ['[fd00::1]:8000', '[fd00::1]', 'fd00::1', '8000'],
  ])('of %s are its host, with and without brackets, and its port', (address, host, bare, port) => {
    expect(hostOf(address)).toBe(host);
    expect(bareHostOf(address)).toBe(bare);
    expect(portOf(address)).toBe(port);
  });
});
