import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../framework/error.ts';
import { needPackages } from './need-packages.ts';

const OPENTELEMETRY = ['@opentelemetry/api', '@opentelemetry/resources'] as const;

function failingWith(code: string): () => never {
  return () => {
    throw Object.assign(new Error('no'), { code });
  };
}

function refusal(resolve: (path: string) => unknown): unknown {
  try {
    return needPackages('--tracing', OPENTELEMETRY, resolve);
  } catch (error) {
    return error;
  }
}

describe('packages that only some options need', () => {
  test('[O101] one that is missing is named with its option and the line that installs it', () => {
    const error = refusal(failingWith('MODULE_NOT_FOUND'));
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toContain(
      '--tracing: needs @opentelemetry/api, @opentelemetry/resources, which Pointsman is installed ' +
        'without: run npm install @opentelemetry/api@1 @opentelemetry/resources@2 where',
    );
  });

  test('[O101] only those that are missing are named', () => {
    const error = refusal((path) => {
      if (path.startsWith('@opentelemetry/api/')) failingWith('MODULE_NOT_FOUND')();
    });
    expect((error as Error).message).toContain('run npm install @opentelemetry/api@1 where');
  });

  test('[O101] one that exports no package.json is there', () => {
    expect(refusal(failingWith('ERR_PACKAGE_PATH_NOT_EXPORTED'))).toBeUndefined();
  });

  test('[O101] in a checkout all of them are there, with the versions that users get', () => {
    const path = join(import.meta.dirname, '..', '..', 'package.json');
    const { peerDependencies, peerDependenciesMeta, devDependencies } = JSON.parse(
      readFileSync(path, 'utf8'),
    ) as Record<string, Record<string, unknown>>;
    const optional = Object.keys(peerDependencies ?? {});
    expect(Object.keys(peerDependenciesMeta ?? {})).toEqual(optional);
    const named = optional.filter((name) => name !== 'node') as (typeof OPENTELEMETRY)[number][];
    const line = (() => {
      try {
        return needPackages('all', named, failingWith('MODULE_NOT_FOUND'));
      } catch (error) {
        return (error as Error).message;
      }
    })();
    for (const name of named) {
      const [, version = '?'] = new RegExp(`${name}@(\\S+)`).exec(line ?? '') ?? [];
      expect(`${name}@${String(devDependencies?.[name])}.`).toContain(`${name}@${version}.`);
      expect(peerDependencies?.[name]).toBe(`^${String(devDependencies?.[name])}`);
    }
    needPackages('all', named);
  });
});
