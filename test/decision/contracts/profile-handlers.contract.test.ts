import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/framework/error.ts';
import type { ProfileResult, SchedulingProfile } from '../../../src/framework/scheduling.ts';
import { makeContext } from '../../makers.ts';
import { neededConfig } from '../../support/plugins/needed-parameters.ts';
import { candidates, catalogue, runtime } from './plugin-world.ts';

function profile(name: string): SchedulingProfile {
  return { name, filters: [], scorers: [], picker: { pick: (all) => all.slice(0, 1) } };
}

for (const definition of catalogue.profileHandlers) {
  describe(`${definition.type} keeps the handler contract`, () => {
    const profiles = new Map([['decode', profile('decode')]]);
    const handler = definition.create(
      neededConfig(definition),
      { profiles, deciders: new Map([['prefix-based-pd-decider', { separates: () => false }]]) },
      runtime,
    );

    it.each(['picked', 'exhausted'] as const)(
      '[H1] asks for profiles of its own until it is done, and answers with one that ran: %s',
      (kind) => {
        const done: ProfileResult[] = [];
        const context = makeContext();
        let next = handler.next(done, context);
        while (next !== undefined && done.length < 10) {
          expect([...profiles.values()]).toContain(next);
          done.push(
            kind === 'picked'
              ? { kind, profile: next.name, targets: candidates([1]) }
              : { kind, profile: next.name, candidates: 1 },
          );
          next = handler.next(done, context);
        }
        expect(next).toBeUndefined();
        const result = handler.conclude(done, context);
        expect(done).toContain(result.primary);
        expect(result.profiles).toEqual(done);
      },
    );

    it('[H2] refuses profiles it cannot run', () => {
      expect(() =>
        definition.create(
          neededConfig(definition),
          { profiles: new Map(), deciders: new Map() },
          runtime,
        ),
      ).toThrow(ConfigError);
    });

    it('[H3] refuses parameters it does not know', () => {
      expect(() => definition.config.parse({ nonsense: 1 })).toThrow();
    });
  });
}
