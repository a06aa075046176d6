import type { Headroom } from '../../journal/headroom/headroom.ts';

/** How much more the pool can serve, as JSON for people and for the live page. */
export function headroomDocument(headroom: Headroom): object {
  const { waiting, active, stages, endpoints } = headroom.report();
  return { waiting, active, stages, endpointSaturation: Object.fromEntries(endpoints) };
}
