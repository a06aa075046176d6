/** Rounds to find the equal share: each is a pass over all streams, and few change anything. */
const SHARE_ROUNDS_MAX = 8;

/**
 * The holders that are to end until all together hold `goal`: first the ones above an equal share,
 * then those above half of it, both as they are ordered. The last of `holders` above half of it
 * comes last.
 */
export function aboveEqualShare<Holder extends { readonly heldBytes: number }>(
  holders: readonly Holder[],
  goal: number,
): readonly Holder[] {
  const share = equalShare(
    goal,
    Float64Array.from(holders, ({ heldBytes }) => heldBytes),
  );
  const large = holders.filter(({ heldBytes }) => heldBytes > share / 2);
  const last = large.splice(-1);
  const isAbove = ({ heldBytes }: Holder): boolean => heldBytes > share;
  return [...large.filter(isAbove), ...large.filter((each) => !isAbove(each)), ...last];
}

/** The bound for each stream by which all together would keep `goal`: smaller ones need less. */
function equalShare(goal: number, heldBytes: Float64Array): number {
  let share = goal / heldBytes.length;
  for (let round = 0; round < SHARE_ROUNDS_MAX; round++) {
    let small = 0;
    let large = 0;
    for (const held of heldBytes) {
      if (held <= share) small += held;
      else large += 1;
    }
    const next = (goal - small) / Math.max(1, large);
    if (next <= share) break;
    share = next;
  }
  return share;
}
