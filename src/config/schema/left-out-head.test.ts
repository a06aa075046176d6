import { describe, expect, test } from 'vitest';
import { issuesOf as issuesOfText, load } from '../../../test/support/load-text.ts';

const textOf = (config: object, apiVersion: string): string =>
  JSON.stringify({ apiVersion, kind: 'EndpointPickerConfig', ...config });

const issuesOf = (config: object, apiVersion = 'llm-d.ai/v1alpha1'): readonly string[] =>
  issuesOfText(textOf(config, apiVersion), '');

const notesOf = (config: object): readonly string[] =>
  load(textOf(config, 'llm-d.ai/v1alpha1'), '').notes.map(
    ({ path, reason }) => `${path}: ${reason}`,
  );

describe('the first two fields', () => {
  test.each([undefined, null, ''])(
    '[D513] version and kind that are `%s` are those of v1alpha1, with a note',
    (left) => {
      expect(notesOf({ apiVersion: left, kind: left, plugins: [] })).toEqual([
        'apiVersion: assumed',
        'kind: assumed',
      ]);
    },
  );

  test('[D513] llm-d.ai/v1, which later releases alone read, needs its kind as there', () => {
    expect(issuesOf({ kind: undefined }, 'llm-d.ai/v1')).toEqual([
      'kind: must be "EndpointPickerConfig"',
    ]);
    expect(notesOf({ kind: undefined })).toEqual(['kind: assumed']);
  });

  test('[D513] fields of other objects of Kubernetes are refused, as there', () => {
    expect(issuesOf({ metadata: { name: 'a' }, status: {} })).toEqual([
      'metadata: is not a known field; leave it out',
      'status: is not a known field',
    ]);
  });
});
