import { invariant } from '../../framework/error.ts';
import type { ProfileHandler, ProfileResult, Scheduler } from '../../framework/scheduling.ts';
import { runProfile } from './profile-run.ts';

/** Encode, prefill and decode are three; a handler that wants many more is going in circles. */
const PROFILES_MAX = 8;

/** Filter, score and pick over the profiles the handler asks for. */
export function createScheduler(handler: ProfileHandler): Scheduler {
  return {
    schedule(endpoints, context) {
      const done: ProfileResult[] = [];
      let profile = handler.next(done, context);
      while (profile !== undefined) {
        const peer = handler.peer?.(done);
        const shown = peer === undefined ? context : { ...context, peer };
        done.push(runProfile(profile, endpoints, shown));
        invariant(
          done.length <= PROFILES_MAX,
          `the profile handler ran more than ${PROFILES_MAX} profiles`,
        );
        profile = handler.next(done, context);
      }
      return handler.conclude(done, context);
    },
  };
}
