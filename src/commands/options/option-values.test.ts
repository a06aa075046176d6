import { describe, expect, it } from 'vitest';
import { simulateCommand } from '../simulate-command.ts';
import { listenHost } from './option-values.ts';

it('[V623] an IPv6 address to listen on may have the brackets of a URL', () => {
  expect(['[::1]', '::1', '0.0.0.0', '[::]'].map(listenHost)).toEqual([
    '::1',
    '::1',
    '0.0.0.0',
    '::',
  ]);
});

describe('the options of simulate', () => {
  it.each([
    ['--seeds', '1000000000', '1000000000 is not a whole number from 1 to 10000.'],
    ['--replicas', '1000000', '1000000 is not a whole number from 1 to 1000.'],
    ['--seeds', '0', '0 is not a whole number from 1 to 10000.'],
  ])('[V287] %s %s is refused before anything is read', async (option, value, sentence) => {
    const command = simulateCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => undefined });
    const args = ['--trace', 'none', '--pool', 'none', option, value];
    await expect(command.parseAsync(args, { from: 'user' })).rejects.toThrow(sentence);
  });
});
