import { expect, test } from 'vitest';
import { readYaml } from './read-yaml.ts';
import { YAML_1_1_SCALARS } from './yaml-scalars.ts';

const read = (scalar: string): unknown =>
  (readYaml(`value: ${scalar}\n`, 'a', YAML_1_1_SCALARS) as { readonly value: unknown }).value;

test.each([
  ['yes', true],
  ['On', true],
  ['y', true],
  ['NO', false],
  ['off', false],
  ['true', true],
  ['010', 8],
  ['-0777', -511],
  ['0b101', 5],
  ['+0x10', 16],
  ['1_000', 1000],
  ['1_0.5', 10.5],
  ['08', 8],
  ['1e3', 1000],
  ['1:30', '1:30'],
  ['2001-01-01', '2001-01-01'],
  ['yEs', 'yEs'],
  ['"yes"', 'yes'],
  ["'010'", '010'],
  ['10Gi', '10Gi'],
])('[D420] %s is read as Kubernetes reads it', (scalar, value) => {
  expect(read(scalar)).toBe(value);
});

test.each([
  ['0o17', 15],
  ['0b1_1', 3],
  ['5_1e-2', 0.51],
  ['.5_0', 0.5],
  ['1e400', '1e400'],
  ['!!float 5', 5],
  ['!!binary aGVsbG8=', 'hello'],
  ['!!timestamp 2001-01-01', '2001-01-01'],
  ['!!set {a}', { a: null }],
  ['9223372036854775807', 2 ** 63 - 1024],
  ['9223372036854775808', 2 ** 63],
])('[D562] %s is read as the JSON that the reference makes of it', (scalar, value) => {
  expect(read(scalar)).toEqual(value);
});

test('[D562] !!binary needs base64', () => {
  expect(() => read('!!binary "%%"')).toThrow('no text in base64');
});

test.each(['.inf', '-.Inf', '.NaN'])(
  '[D562] %s is an error, because JSON has no such number',
  (scalar) => {
    expect(() => read(scalar)).toThrow('is no number that JSON has');
  },
);

test('[D420] other files are read as YAML 1.2', () => {
  expect(readYaml('a: yes\nb: 010\n', 'a')).toEqual({ a: 'yes', b: 10 });
});
