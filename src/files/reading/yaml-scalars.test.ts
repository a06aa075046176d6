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

test('[D420] other files are read as YAML 1.2', () => {
  expect(readYaml('a: yes\nb: 010\n', 'a')).toEqual({ a: 'yes', b: 10 });
});
